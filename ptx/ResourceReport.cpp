// ptx/ResourceReport.cpp - what a compiled GPU kernel needs and does, as JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/ResourceReport.h"

#include "ptx/Ptxas.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace tessera::ptx {
namespace {

Json countsJson(const InstructionCounts &counts) {
  Json result = {{"total", counts.total()}};
  for (size_t i = 0; i < numInstructionClasses; ++i)
    if (counts.by[i])
      result[instructionClassName(InstructionClass(i))] = counts.by[i];
  return result;
}

// To four digits: the text must not depend on the last bit.
Json ratioJson(double value) {
  return value < 0 ? Json() : Json(std::round(value * 1e4) / 1e4);
}

Json listingJson(const Listing &listing) {
  Json loops = Json::array();
  for (const ListedLoop &loop : listing.loops) {
    const uint32_t tensor = loop.iteration[InstructionClass::Mma];
    loops.push_back(
        {{"lines",
          loop.firstLine ? Json{loop.firstLine, loop.lastLine} : Json()},
         {"text_line", loop.textLine},
         {"depth", loop.depth},
         {"innermost", loop.innermost},
         {"instructions", countsJson(loop.counts)},
         {"iteration", countsJson(loop.iteration)},
         {"non_tensor_per_tensor",
          tensor ? ratioJson(double(loop.iteration.total() - tensor) / tensor)
                 : Json()}});
  }
  return {{"instructions", countsJson(listing.counts)},
          {"loops", loops},
          {"loop_non_tensor_per_tensor",
           ratioJson(loopNonTensorPerTensor(listing))}};
}

// The basic blocks of a disassembly with the lines of the PTX.
Json blocksJson(const Listing &listing) {
  Json blocks = Json::array();
  for (const auto &[begin, end] : basicBlocks(listing)) {
    Json block = Json::array();
    for (size_t i = begin; i < end; ++i) {
      const ListedInstruction &one = listing.code[i];
      const bool known =
          one.place.line &&
          listing.files[one.place.file].starts_with(".nv_debug_ptx_txt");
      block.push_back({known ? one.place.line : 0,
                       one.opcode.substr(0, one.opcode.find('.'))});
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

} // namespace

Json makeReport(const ReportInput &input, std::string_view kernel) {
  const Listing ptx = readPtx(input.ptx, kernel);
  Json report = {{"kernel", ptx.kernel},
                 {"target", input.target.name},
                 {"ptx_version", ptx.version},
                 {"ptx", listingJson(ptx)},
                 {"sass", Json()}};
  report["ptx"]["virtual_registers"] = ptx.virtualRegisters;
  const uint32_t threads = input.threads ? input.threads : ptx.threads;
  const uint64_t shared = input.sharedBytes + ptx.staticShared;
  report["threads"] = threads ? Json(threads) : Json();
  report["shared"] = shared;
  // cp.async.wait_group N leaves N groups on their way while one is used.
  report["async_stages"] =
      ptx.counts[InstructionClass::AsyncCopy] ? ptx.asyncWait + 1 : 0;
  for (const char *key : {"registers", "stack", "spill_stores", "spill_loads",
                          "blocks_per_sm", "warps_per_sm", "limited_by"})
    report[key] = nullptr;
  if (const Resources *r = input.resources; r && r->known) {
    report["registers"] = r->registers;
    report["stack"] = r->stack;
    report["spill_stores"] = r->spillStores;
    report["spill_loads"] = r->spillLoads;
    if (threads) {
      const Occupancy fit =
          input.target.occupancy(r->registers, shared, threads);
      report["blocks_per_sm"] = fit.blocks;
      report["warps_per_sm"] = fit.warps;
      report["limited_by"] = fit.limit;
    }
  }
  report["ptxas"] =
      input.ptxasVersion.empty() ? Json() : Json(input.ptxasVersion);
  report["shared_buffers"] = Json::array();
  for (const SharedBuffer &buffer : input.buffers)
    report["shared_buffers"].push_back(
        {{"name", buffer.name},
         {"offset", buffer.offset},
         {"bytes", buffer.bytes},
         {"line", buffer.line ? Json(buffer.line) : Json()}});
  report["remarks"] = Json::array();
  for (const Remark &remark : input.remarks)
    report["remarks"].push_back(
        {{"place", remark.place}, {"text", remark.text}});
  Json ratio = report["ptx"]["loop_non_tensor_per_tensor"];
  if (!input.sass.empty()) {
    const Listing sass = readSass(input.sass, kernel);
    report["sass"] = listingJson(sass);
    ratio = report["sass"]["loop_non_tensor_per_tensor"];
  }
  if (!input.sassOfPtx.empty())
    report["sass_blocks"] = blocksJson(readSass(input.sassOfPtx, kernel));
  report["loop_non_tensor_per_tensor"] = ratio;
  return report;
}

std::string numberText(const Json &value, const char *unknown) {
  if (value.is_null())
    return unknown;
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.2f", value.get<double>());
    return text;
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

namespace {

// "120: alu 60, mma 16, ..." most frequent first.
std::string countsText(const Json &counts) {
  std::vector<std::pair<int64_t, std::string>> rows;
  for (const auto &[name, count] : counts.items())
    if (name != "total")
      rows.emplace_back(-count.get<int64_t>(), name);
  std::sort(rows.begin(), rows.end());
  std::string text = numberText(counts.at("total")) + ":";
  for (const auto &[count, name] : rows)
    text += (&count == &rows[0].first ? " " : ", ") + name + " " +
            std::to_string(-count);
  return text;
}

constexpr std::string_view commentStart = "// ", remarkWord = ": remark: ";

} // namespace

std::string remarkComment(const Remark &remark) {
  return std::string(commentStart) + remark.place + std::string(remarkWord) +
         remark.text + "\n";
}

std::vector<Remark> remarksOf(std::string_view ptx) {
  std::vector<Remark> remarks;
  for (std::string_view line : splitLines(ptx)) {
    const size_t word = line.find(remarkWord);
    if (!line.starts_with(commentStart) || word == line.npos)
      break;
    remarks.push_back({std::string(line.substr(commentStart.size(),
                                               word - commentStart.size())),
                       std::string(line.substr(word + remarkWord.size()))});
  }
  return remarks;
}

std::string reportText(const Json &report) {
  const auto value = [&](const char *key) {
    return numberText(report.at(key));
  };
  std::string text = value("kernel") + " for " + value("target") + ", " +
                     value("threads") + " threads, PTX " +
                     value("ptx_version") + "\n";
  const auto row = [&](const std::string &name, const std::string &what) {
    text += "  " + name +
            std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + what +
            "\n";
  };
  if (!report.at("registers").is_null()) {
    row("registers", value("registers"));
    row("stack, spills", value("stack") + " bytes, " + value("spill_stores") +
                             " stored and " + value("spill_loads") + " loaded");
  }
  row("shared memory", value("shared") + " bytes");
  for (const Json &buffer : report.at("shared_buffers"))
    row("", numberText(buffer.at("bytes")) + " at " +
                numberText(buffer.at("offset")) + "  " +
                numberText(buffer.at("name")) +
                (buffer.at("line").is_null()
                     ? ""
                     : " (line " + numberText(buffer.at("line")) + ")"));
  if (!report.at("blocks_per_sm").is_null())
    row("blocks on an SM", value("blocks_per_sm") + ", " +
                               value("warps_per_sm") + " warps, limited by " +
                               value("limited_by"));
  for (const char *kind : {"sass", "ptx"}) {
    const Json &listing = report.at(kind);
    if (listing.is_null())
      continue;
    row(kind == std::string("ptx") ? "PTX" : "SASS",
        countsText(listing.at("instructions")));
    for (const Json &loop : listing.at("loops")) {
      const Json &lines = loop.at("lines");
      row("  loop" + (lines.is_null() ? std::string()
                                      : " " + numberText(lines[0]) + "-" +
                                            numberText(lines[1])),
          countsText(loop.at("instructions")) +
              (loop.at("innermost").get<bool>() ? "" : " (not innermost)") +
              (loop.at("non_tensor_per_tensor").is_null()
                   ? ""
                   : "; " + numberText(loop.at("non_tensor_per_tensor")) +
                         " others per mma"));
    }
  }
  for (const Json &remark : report.at("remarks"))
    text += "  " + numberText(remark.at("place")) + std::string(remarkWord) +
            numberText(remark.at("text")) + "\n";
  return text;
}

std::string annotate(std::string_view text, const Listing &listing,
                     const std::vector<SourceText> &sources) {
  // Lines of all sources by file.
  std::map<std::string, std::vector<std::string_view>> lines;
  for (const SourceText &source : sources) {
    auto &list = lines[source.file];
    if (list.empty())
      list = splitLines(source.text);
  }
  std::map<uint32_t, std::string> before; // by line of the text
  SourcePlace last;
  for (const ListedInstruction &instruction : listing.code) {
    const SourcePlace place = instruction.inner;
    if (!place.line || (place.line == last.line && place.file == last.file))
      continue;
    last = place;
    const std::string &file = listing.files[place.file];
    const auto found = lines.find(file);
    std::string_view source;
    if (found != lines.end() && place.line <= found->second.size())
      source = found->second[place.line - 1];
    const size_t begin = source.find_first_not_of(" \t");
    before[instruction.textLine] +=
        "// " + file + ":" + std::to_string(place.line) + ": " +
        std::string(begin == source.npos ? "" : source.substr(begin)) + "\n";
  }
  std::string result;
  uint32_t number = 0;
  for (std::string_view line : splitLines(text)) {
    if (auto found = before.find(++number); found != before.end())
      result += found->second;
    result += line;
    result += '\n';
  }
  return result;
}

} // namespace tessera::ptx
