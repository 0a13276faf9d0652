"""tests/unit/trainer/data/make_parquet.py - FOLDER: documents as parquet files of several kinds, and as JSONL.
SPDX-License-Identifier: Apache-2.0

FineWeb-Edu's columns; texts of all lengths, empty ones and nulls among them.
"""
import json
import pathlib
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 700


def texts():
    draw = random.Random(7)
    letters = "abcdefghij klmnop\n\"\\é漢🎈\t"
    rows = []
    for _ in range(ROWS):
        length = draw.choice([0, 1, 5, 40, 400])
        rows.append("".join(draw.choice(letters) for _ in range(length)))
    rows[3] = "long " * 500_000  # more than one piece of the pipe
    return rows


def table(rows, text_type=pa.string()):  # noqa: B008 - types of Arrow do not change
    count = len(rows)
    return pa.table({
        "text": pa.array(rows, text_type),
        "id": ["<urn:uuid:%d>" % i for i in range(count)],
        "dump": ["CC-MAIN"] * count,
        "url": ["u"] * count,
        "file_path": ["f"] * count,
        "language": ["en"] * count,
        "language_score": pa.array([0.5] * count, pa.float64()),
        "token_count": pa.array(range(count), pa.int64()),
        "score": pa.array([1.5] * count, pa.float64()),
        "int_score": pa.array([3] * count, pa.int64()),
    })


def main(folder):
    rows = texts()
    with_nulls = [row if i % 5 else None for i, row in enumerate(rows)]
    for name in ("same.jsonl", "nulls.jsonl"):
        kept = rows if name == "same.jsonl" else with_nulls
        with open(folder / name, "w", encoding="utf-8") as out:
            for row in kept:
                if row is not None:
                    out.write(json.dumps({"text": row}) + "\n")
    for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        pq.write_table(table(rows), folder / (codec + ".parquet"), compression=codec, row_group_size=150,
                       data_page_size=4096, write_page_checksum=codec != "none", data_page_version="2.0" if codec == "zstd" else "1.0")
    pq.write_table(table(rows, pa.large_string()), folder / "large.parquet", use_dictionary=False)
    pq.write_table(table(rows).rename_columns(["body"] + table(rows).column_names[1:]), folder / "renamed.parquet")
    encoded = table(rows).set_column(0, "text", pa.array(rows).dictionary_encode())
    pq.write_table(encoded, folder / "dictionary.parquet", row_group_size=1)
    pq.write_table(table(with_nulls), folder / "nulls.parquet", row_group_size=64)
    pq.write_table(table([]), folder / "empty.parquet")
    pq.write_table(pa.table({"text": [[row] for row in rows[:9]]}), folder / "list.parquet")
    pq.write_table(pa.table({"doc": [{"text": row} if row else None for row in rows[:9]]}), folder / "nested.parquet")
    pq.write_table(pa.table({"text": [row.encode() for row in rows[:9]]}), folder / "bytes.parquet")
    pq.write_table(table(rows[4:40]), folder / "small.parquet", row_group_size=9, write_page_checksum=False)
    pq.write_table(table(rows[4:40]), folder / "checked.parquet", row_group_size=9, write_page_checksum=True,
                   compression="none", use_dictionary=False)
    # 64 MB of text in one row group: more than the reader may hold.
    line = "".join(random.Random(1).choice("abcdefgh ") for _ in range(1 << 16))
    pq.write_table(pa.table({"text": [line[i:] + line[:i] for i in range(1024)]}), folder / "wide.parquet",
                   row_group_size=1024, compression="none", use_dictionary=False, write_batch_size=4)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
