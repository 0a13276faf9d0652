// tools/tessera-parquet.cpp - reads a text column of a parquet file for
// trainer/data/Parquet.cpp. Only this program links Arrow.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "support/LittleEndian.h"

#include <algorithm>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using tessera::Error;

namespace {

constexpr int64_t batchRows = 256;
/// Memory limit: a damaged length may request any size. Two pages of the
/// largest size fit.
constexpr rlim_t mostMemory = rlim_t(8) << 30;

/// Writes records: a letter, a length of eight bytes, and that many bytes.
class Output {
public:
  void record(char kind, std::string_view payload) {
    std::string head(1, kind);
    tessera::putNumber(head, payload.size(), 8);
    put(head);
    put(payload);
  }
  void end(int64_t rows) {
    std::string number;
    tessera::putNumber(number, uint64_t(rows), 8);
    record('z', number);
    flush();
  }
  void flush() {
    for (std::string_view rest = waiting; !rest.empty();) {
      const ssize_t count = ::write(1, rest.data(), rest.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        std::_Exit(1); // the reader has exited
      rest.remove_prefix(size_t(count));
    }
    waiting.clear();
  }

private:
  void put(std::string_view bytes) {
    waiting += bytes;
    if (waiting.size() > size_t(1) << 18)
      flush();
  }
  std::string waiting;
};

bool isText(const parquet::ColumnDescriptor &column) {
  return column.physical_type() == parquet::Type::BYTE_ARRAY &&
         column.logical_type() && column.logical_type()->is_string();
}

std::string typeOf(const parquet::ColumnDescriptor &column) {
  if (column.max_repetition_level() > 0)
    return "list";
  if (column.logical_type() && !column.logical_type()->is_none())
    return column.logical_type()->ToString();
  return parquet::TypeToString(column.physical_type());
}

std::string columnNames(const parquet::SchemaDescriptor &schema) {
  std::string names;
  const int shown = std::min(schema.num_columns(), 16);
  for (int i = 0; i < shown; ++i)
    names += (i ? ", " : "") + schema.Column(i)->path()->ToDotString();
  return names + (shown < schema.num_columns() ? ", ..." : "");
}

/// Returns the number of the text column of this name. Throws tessera::Error.
int columnOf(const parquet::SchemaDescriptor &schema, const std::string &field,
             const std::string &file) {
  for (int i = 0; i < schema.num_columns(); ++i) {
    const parquet::ColumnDescriptor &column = *schema.Column(i);
    if (column.path()->ToDotString() != field)
      continue;
    if (!isText(column) || column.max_repetition_level() > 0 ||
        column.max_definition_level() > 1)
      throw Error(fmt::format("{}: the column '{}' is of type {}, not a plain "
                              "column of strings",
                              file, field, typeOf(column)),
                  "--field names the column that holds the texts");
    return i;
  }
  throw Error(fmt::format("{}: no column '{}'; it has {}", file, field,
                          columnNames(schema)),
              "--field names the column that holds the texts");
}

/// Writes the texts of one row group. Returns its number of rows.
int64_t readGroup(parquet::ByteArrayReader &reader, Output &out) {
  std::vector<int16_t> levels(batchRows);
  std::vector<parquet::ByteArray> values(batchRows);
  int64_t rows = 0;
  while (reader.HasNext()) {
    int64_t count = 0;
    const int64_t read = reader.ReadBatch(batchRows, levels.data(), nullptr,
                                          values.data(), &count);
    if (read == 0 && count == 0)
      break;
    for (int64_t i = 0; i < count; ++i)
      if (values[size_t(i)].len > 0)
        out.record('d', std::string_view(values[size_t(i)]));
    // A column without nulls has no levels: its values are the rows.
    rows += std::max(read, count);
  }
  return rows;
}

std::unique_ptr<parquet::ParquetFileReader> open(const std::string &file) {
  parquet::ReaderProperties properties(arrow::system_memory_pool());
  // Reads a column page by page to limit memory.
  properties.enable_buffered_stream();
  properties.set_page_checksum_verification(true);
  return parquet::ParquetFileReader::OpenFile(file, false, properties);
}

void readTexts(const std::string &file, const std::string &field, Output &out) {
  int group = -1;
  try {
    const auto reader = open(file);
    const parquet::FileMetaData &data = *reader->metadata();
    const int column = columnOf(*data.schema(), field, file);
    int64_t rows = 0;
    for (group = 0; group < data.num_row_groups(); ++group) {
      out.record('g', fmt::format("{} of {}", group, data.num_row_groups()));
      const auto pages = reader->RowGroup(group)->Column(column);
      const int64_t read =
          readGroup(static_cast<parquet::ByteArrayReader &>(*pages), out);
      const int64_t expected = data.RowGroup(group)->num_rows();
      if (read != expected)
        throw std::runtime_error(
            fmt::format("it has {} rows, its head says {}", read, expected));
      rows += read;
    }
    out.end(rows);
  } catch (const Error &) {
    throw;
  } catch (const std::exception &e) {
    throw Error(fmt::format("{}: {}{}", file,
                            group < 0 ? std::string()
                                      : fmt::format("row group {}: ", group),
                            e.what()),
                "the file is damaged or was not copied to its end; copy or "
                "make it again, or leave it out");
  }
}

void inspect(const std::string &file, Output &out) {
  const auto reader = open(file);
  const parquet::FileMetaData &data = *reader->metadata();
  std::string text = fmt::format(
      "{}\n  format      parquet\n  rows        {} in {} row groups\n", file,
      data.num_rows(), data.num_row_groups());
  for (int i = 0; i < data.schema()->num_columns(); ++i) {
    const parquet::ColumnDescriptor &column = *data.schema()->Column(i);
    text += fmt::format(
        "  column      {} ({}{})\n",
        column.path()->ToDotString().substr(0, 200), typeOf(column),
        data.num_row_groups() == 0
            ? ""
            : ", " + arrow::util::Codec::GetCodecAsString(
                         data.RowGroup(0)->ColumnChunk(i)->compression()));
    if (text.size() > size_t(1) << 16) {
      text += "  ...\n";
      break;
    }
  }
  out.record('i', text);
  out.end(data.num_rows());
}

/// Returns the first line of Arrow's message; the others are locations in its
/// sources.
std::string firstLine(const std::string &text) {
  return text.substr(0, std::min(text.find('\n'), size_t(2000)));
}

} // namespace

int main(int count, char **arguments) {
  const std::vector<std::string> all(arguments + 1, arguments + count);
  const bool texts = all.size() == 4 && all[0] == "--field" && all[2] == "--";
  const bool shown = all.size() == 3 && all[0] == "--inspect" && all[1] == "--";
  if (!texts && !shown) {
    std::fputs("tessera-parquet is started by tessera data.\n"
               "usage: tessera-parquet --field COLUMN -- FILE | "
               "--inspect -- FILE\n",
               stderr);
    return 2;
  }
  const rlimit noCore = {0, 0}, memory = {mostMemory, mostMemory};
  ::setrlimit(RLIMIT_CORE, &noCore);
  ::setrlimit(RLIMIT_DATA, &memory);
  Output out;
  try {
    if (texts)
      readTexts(all[3], all[1], out);
    else
      inspect(all[2], out);
    return 0;
  } catch (const Error &e) {
    out.record('x', firstLine(e.message) + "\n" + e.hint);
  } catch (const std::exception &e) {
    out.record('x', fmt::format("{}: {}\nis this a parquet file? copy or make "
                                "it again, or leave it out",
                                all[2], firstLine(e.what())));
  }
  out.flush();
  return 0;
}
