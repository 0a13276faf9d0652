// trainer/loop/OwnSymbols.cpp - reads the symbol table of an ELF file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/OwnSymbols.h"

#include "support/File.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

namespace tessera::trainer {
namespace {

/// Largest table that is read, in bytes.
constexpr uint64_t mostBytes = uint64_t(256) << 20;

/// Returns `count` records from an offset of the file; none if they cannot be
/// read.
template <typename T>
std::vector<T> readRecords(int fd, uint64_t offset, uint64_t count) {
  if (count > mostBytes / sizeof(T))
    return {};
  std::vector<T> records(count);
  const size_t bytes = count * sizeof(T);
  if (::pread(fd, records.data(), bytes, off_t(offset)) != ssize_t(bytes))
    return {};
  return records;
}

/// Returns "tessera::trainer::Run::step()"; names of other programs' functions
/// remain as they are, because they can be very long.
std::string readable(const char *name) {
  const std::string_view text = name;
  if (!text.starts_with("_ZN7tessera") && !text.starts_with("_ZNK7tessera"))
    return name;
  int status = 0;
  char *plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && plain ? plain : name;
  std::free(plain);
  // The arguments' types say little in a stack.
  const size_t arguments = result.find('(', result.rfind("(anonymous") + 1);
  return arguments == std::string::npos ? result : result.substr(0, arguments);
}

/// The main program is the first object.
int takeBase(dl_phdr_info *info, size_t, void *base) {
  *static_cast<uint64_t *>(base) = info->dlpi_addr;
  return 1;
}

} // namespace

OwnSymbols::OwnSymbols() {
  dl_iterate_phdr(takeBase, &base);
  const UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!fd)
    return;
  const auto header = readRecords<Elf64_Ehdr>(fd.get(), 0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64)
    return;
  const auto sections =
      readRecords<Elf64_Shdr>(fd.get(), header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr &table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size())
      continue;
    const Elf64_Shdr &strings = sections[table.sh_link];
    auto names =
        readRecords<char>(fd.get(), strings.sh_offset, strings.sh_size);
    names.push_back(0);
    for (const Elf64_Sym &symbol : readRecords<Elf64_Sym>(
             fd.get(), table.sh_offset, table.sh_size / sizeof(Elf64_Sym)))
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size > 0 &&
          symbol.st_name < names.size())
        functions.push_back({symbol.st_value, symbol.st_value + symbol.st_size,
                             readable(&names[symbol.st_name])});
  }
  std::sort(
      functions.begin(), functions.end(),
      [](const Function &a, const Function &b) { return a.begin < b.begin; });
}

OwnSymbols::Found OwnSymbols::find(const void *address) const {
  Found found;
  // A call that does not return can be the last instruction of a function, and
  // its return address belongs to the next one.
  found.offset = reinterpret_cast<uint64_t>(address) - base;
  const uint64_t call = found.offset - 1;
  auto next = std::upper_bound(
      functions.begin(), functions.end(), call,
      [](uint64_t value, const Function &f) { return value < f.begin; });
  if (next != functions.begin() && call < (--next)->end)
    found.name = next->name;
  return found;
}

} // namespace tessera::trainer
