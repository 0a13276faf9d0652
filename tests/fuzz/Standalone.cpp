// tests/fuzz/Standalone.cpp - drives a fuzz target without libFuzzer: the
// corpus, then mutations of it that are the same in every run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   fuzz_lexer [--mutations N] [--seed S] [--dictionary FILE] FILE|FOLDER ...
//
// When the target crashes, the input is left as ./crash-TARGET.
#include "tests/fuzz/Fuzz.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace {

std::string current;   // the input at work
std::string crashPath; // where it goes when it is the last

void keepInput(int signal) {
  const int fd = ::open(crashPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0) {
    [[maybe_unused]] auto put = ::write(fd, current.data(), current.size());
    ::close(fd);
  }
  static const char text[] = "fuzz: the input is in ./";
  [[maybe_unused]] auto put = ::write(2, text, sizeof(text) - 1);
  put = ::write(2, crashPath.c_str(), crashPath.size());
  put = ::write(2, "\n", 1);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void run(std::string input) {
  current = std::move(input);
  // A buffer of its own: what reads past the end is seen by sanitizers.
  const std::vector<uint8_t> bytes(current.begin(), current.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::string readAll(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Entries of a libFuzzer dictionary: name="text", with \xNN, \\ and \".
std::vector<std::string> readDictionary(const fs::path &path) {
  std::vector<std::string> words;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    const size_t begin = line.find('"'), end = line.rfind('"');
    if (line.empty() || line[0] == '#' || begin == end)
      continue;
    std::string word;
    for (size_t i = begin + 1; i < end; ++i) {
      if (line[i] != '\\') {
        word += line[i];
      } else if (line[i + 1] == 'x') {
        word += char(std::stoi(line.substr(i + 2, 2), nullptr, 16));
        i += 3;
      } else {
        word += line[++i];
      }
    }
    words.push_back(word);
  }
  return words;
}

class Mutator {
public:
  Mutator(const std::vector<std::string> &corpus,
          const std::vector<std::string> &words, unsigned seed)
      : corpus(corpus), words(words), random(seed) {}

  std::string next() {
    std::string text = corpus[below(corpus.size())];
    for (size_t steps = 1 + below(4); steps; --steps)
      step(text);
    return text.substr(0, 1 << 16);
  }

private:
  size_t below(size_t limit) { return limit ? random() % limit : 0; }
  // A stretch of some text: mostly short, at times a complete line.
  std::pair<size_t, size_t> stretch(const std::string &text) {
    const size_t begin = below(text.size());
    if (below(3))
      return {begin, std::min(text.size() - begin, 1 + below(8))};
    const size_t line = text.rfind('\n', begin);
    const size_t from = line == std::string::npos ? 0 : line;
    const size_t to = text.find('\n', from + 1);
    return {from, (to == std::string::npos ? text.size() : to) - from};
  }

  void step(std::string &text) {
    static const char *const numbers[] = {
        "0",   "-1",         "1",       "2147483648",
        "3",   "1000000007", "1e400",   "9223372036854775808",
        "0.5", "0x80",       "1048576", "4294967296",
        "16",  "True",       "None",    "()"};
    const auto [begin, length] = stretch(text);
    switch (below(9)) {
    case 0:
      if (!text.empty())
        text[begin] ^= char(1u << below(8));
      break;
    case 1:
      text.insert(begin, 1, char(below(256)));
      break;
    case 2:
      text.erase(begin, length);
      break;
    case 3: // twice
      text.insert(begin, text.substr(begin, length));
      break;
    case 4: // elsewhere
    {
      const std::string moved = text.substr(begin, length);
      text.erase(begin, length);
      text.insert(below(text.size() + 1), moved);
      break;
    }
    case 5:
      if (!words.empty())
        text.insert(begin, words[below(words.size())]);
      break;
    case 6: {
      const std::string &other = corpus[below(corpus.size())];
      const auto [from, many] = stretch(other);
      text.replace(begin, length, other, from, many);
      break;
    }
    case 7: { // replaces a number by another one
      size_t digit = text.find_first_of("0123456789", begin);
      if (digit == std::string::npos)
        break;
      size_t end = digit;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9')
        ++end;
      text.replace(digit, end - digit, numbers[below(std::size(numbers))]);
      break;
    }
    case 8:
      if (below(4) == 0)
        text.resize(begin);
      else if (!words.empty())
        text.replace(begin, length, words[below(words.size())]);
      break;
    }
  }

  const std::vector<std::string> &corpus;
  const std::vector<std::string> &words;
  std::mt19937 random;
};

} // namespace

int main(int argc, char **argv) {
  size_t mutations = 0;
  unsigned seed = 1;
  std::vector<std::string> words;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--mutations" && i + 1 < argc)
      mutations = std::stoull(argv[++i]);
    else if (argument == "--seed" && i + 1 < argc)
      seed = unsigned(std::stoul(argv[++i]));
    else if (argument == "--dictionary" && i + 1 < argc)
      words = readDictionary(argv[++i]);
    else if (fs::is_directory(argument)) {
      for (const auto &file : fs::recursive_directory_iterator(argument))
        if (file.is_regular_file())
          files.push_back(file.path());
    } else if (fs::exists(argument)) {
      files.push_back(argument);
    } else {
      std::fprintf(stderr, "fuzz: no file or option %s\n", argument.c_str());
      return 2;
    }
  }
  // The order of a folder's files is the disk's.
  std::sort(files.begin(), files.end());
  crashPath = "crash-" + fs::path(argv[0]).filename().string();
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    ::signal(signal, keepInput);

  std::vector<std::string> corpus;
  for (const fs::path &file : files) {
    corpus.push_back(readAll(file));
    run(corpus.back());
  }
  if (corpus.empty())
    corpus.push_back("");
  run("");
  Mutator mutator(corpus, words, seed);
  for (size_t i = 0; i < mutations; ++i)
    run(mutator.next());
  std::printf("%zu files and %zu mutations of them\n", files.size(), mutations);
  // Nothing ran: the paths were wrong.
  return files.empty() ? 1 : 0;
}
