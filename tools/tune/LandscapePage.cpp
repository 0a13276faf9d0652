// tools/tune/LandscapePage.cpp - renders landscapes of configurations as HTML.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/StaleEntries.h"
#include "tools/inspect/Page.h"
#include "tools/tune/Landscape.h"
#include "tools/tune/TableListing.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tessera::tools {

// Number of rows shown; the page shows more on request.
static constexpr size_t shownRows = 16;

// Returns 0 for the fastest, 1 for ratios of four and above.
static double heat(double ratio) {
  return std::clamp(std::log2(ratio) / 2, 0.0, 1.0);
}

static std::string cellText(const std::optional<Landscape::Cell> &cell,
                            double fastest) {
  if (!cell)
    return "<td></td>";
  if (!cell->problem.empty())
    return fmt::format("<td class=\"excluded\" title=\"{}\">excluded</td>",
                       htmlText(cell->problem));
  const double ratio = cell->us / fastest;
  std::string classes = cell->chosen ? "chosen" : "";
  if (cell->own)
    classes += classes.empty() ? "own" : " own";
  std::string title = fmt::format("{:.2f} times the fastest", ratio);
  if (cell->spread > 0)
    title += fmt::format(", spread {:.1f}%", 100 * cell->spread);
  if (cell->chosen)
    title += "; the table's choice";
  if (cell->own)
    title += "; the kernel's own";
  return fmt::format(
      "<td class=\"{}\" style=\"--r:{:.3f}\" title=\"{}\">{}</td>", classes,
      heat(ratio), title, htmlText(timeText(cell->us)));
}

static std::string rowText(const Landscape &landscape,
                           const Landscape::Row &row) {
  std::string text =
      "<tr><th scope=\"row\">" +
      htmlText(row.choice.empty() ? "the kernel's own" : row.choice) + "</th>";
  for (size_t i = 0; i < row.cells.size(); ++i)
    text += cellText(row.cells[i], landscape.fastest(i));
  return text + "</tr>\n";
}

static std::string lengthText(int64_t bucket) {
  return bucket ? std::to_string(bucket) + " tokens" : "any length";
}

static std::string sectionText(const Landscape &landscape) {
  std::string header = "<thead><tr><th>configuration</th>";
  for (int64_t bucket : landscape.buckets)
    header += "<th scope=\"col\">" + lengthText(bucket) + "</th>";
  header += "</tr></thead>\n";
  std::string shown, more;
  for (size_t i = 0; i < landscape.rows.size(); ++i)
    (i < shownRows ? shown : more) += rowText(landscape, landscape.rows[i]);
  std::string text = "<section>\n<h2>" + htmlText(landscape.kernel) +
                     "</h2>\n<table>" + header + "<tbody>" + shown +
                     "</tbody></table>\n";
  if (!more.empty())
    text += fmt::format("<details><summary>{} slower ones</summary>\n<table>",
                        landscape.rows.size() - shownRows) +
            header + "<tbody>" + more + "</tbody></table></details>\n";
  for (size_t i = 0; i < landscape.reasons.size(); ++i)
    if (!landscape.reasons[i].empty())
      text += "<p class=\"why\">" + lengthText(landscape.buckets[i]) + ": " +
              htmlText(landscape.reasons[i]) + "</p>\n";
  return text + "</section>\n";
}

std::string landscapePage(const std::string &title,
                          const tune::TuneTable &table,
                          const std::vector<Landscape> &landscapes) {
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
      htmlText(title) + "</title>\n<style>\n" + landscapeStyle() +
      "</style></head>\n<body>\n<h1>" + htmlText(title) + "</h1>\n<pre>" +
      htmlText(tableHeading(table, tune::staleEntries(table).size())) +
      "</pre>\n<p>A row is a configuration, a column a length of sequences: "
      "microseconds of a launch, darker where it is slower than the fastest of "
      "its column. <span class=\"chosen\">Framed</span>: the table's choice. "
      "<span class=\"own\">Underlined</span>: the kernel's own. The pointer "
      "shows spread and reason.</p>\n";
  for (const Landscape &landscape : landscapes)
    text += sectionText(landscape);
  return text + "</body></html>\n";
}

} // namespace tessera::tools
