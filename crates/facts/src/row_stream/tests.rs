//! Files are read back by Parquet's own reader.

use bytes::Bytes;
use parquet::basic::ConvertedType;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field as Cell;

use super::*;
use crate::Kind;

static FIELDS: [Field; 4] = [
    Field::new("name", Kind::Text),
    Field::new("number", Kind::Long),
    Field::new("since", Kind::TimeMs),
    Field::new("until", Kind::TimeMs).nullable(),
];

/// Writes rows in pieces and reads them back. Returns the number of row groups, and how many pieces
/// had bytes before the last one.
#[track_caller]
fn check(rows: &[(String, i64, i64, Option<i64>)]) -> (usize, usize) {
    let mut stream = RowStream::new(&FIELDS).unwrap();
    let (mut file, mut early) = (Vec::new(), 0);
    for (name, number, since, until) in rows {
        let mut row = stream.row().unwrap();
        row.text(name)
            .long(*number)
            .long(*since)
            .optional_long(*until)
            .end();
        let piece = stream.take().unwrap();
        early += usize::from(!piece.is_empty());
        file.extend(piece);
    }
    // An interrupted file is invalid.
    assert!(SerializedFileReader::new(Bytes::from(file.clone())).is_err());
    file.extend(stream.finish().unwrap());
    let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
    let found: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().into_columns())
        .map(|columns| columns.into_iter().map(|(_, field)| field).collect::<Vec<_>>())
        .collect();
    let expected = rows.iter().map(|(name, number, since, until)| {
        vec![
            Cell::Str(name.clone()),
            Cell::Long(*number),
            Cell::TimestampMillis(*since),
            until.map_or(Cell::Null, Cell::TimestampMillis),
        ]
    });
    assert!(found.into_iter().eq(expected));
    let types = reader.metadata().file_metadata().schema_descr();
    assert_eq!(types.column(2).converted_type(), ConvertedType::TIMESTAMP_MILLIS);
    assert_eq!(types.column(0).converted_type(), ConvertedType::UTF8);
    (reader.num_row_groups(), early)
}

#[test]
fn rows_come_back_as_they_were() {
    // The first piece is the file's first four bytes.
    assert_eq!(check(&[]), (0, 0));
    let odd = [
        ("=1, \"é\"\n\u{0}".to_owned(), i64::MIN, i64::MAX, None),
        (String::new(), 0, -1, Some(i64::MIN)),
    ];
    assert_eq!(check(&odd), (1, 1));
}

#[test]
fn long_texts_and_many_rows_become_row_groups_on_the_way() {
    let long = "x".repeat(GROUP_TEXT_BYTES / 4);
    let rows: Vec<_> = (0..10).map(|n| (long.clone(), n, n, Some(n))).collect();
    // Four and four rows, then two with the footer.
    assert_eq!(check(&rows), (3, 3));
    let rows: Vec<_> = (0..GROUP_ROWS as i64 + 1)
        .map(|n| (String::new(), n, n, None))
        .collect();
    assert_eq!(check(&rows).0, 2);
}

#[test]
#[should_panic(expected = "number must have a value in every row")]
fn a_column_without_null_gets_none() {
    let mut stream = RowStream::new(&FIELDS).unwrap();
    stream.row().unwrap().text("a").none();
}
