//! The types of values, as clients of ODBC and JDBC ask for them (`GetXdbcTypeInfo`).

use std::sync::LazyLock;

use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{Nullable, Searchable, XdbcDataType, XdbcDatetimeSubcode};

/// A type of values.
struct Type {
    /// Its name in statements.
    name: &'static str,
    of: XdbcDataType,
    /// In bits or decimal digits for numbers, in characters for others.
    size: i32,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Bits,
    Digits,
    Time(XdbcDatetimeSubcode),
    Other,
}

const TYPES: [Type; 12] = {
    use XdbcDataType as Of;
    const fn of(name: &'static str, of: XdbcDataType, size: i32, kind: Kind) -> Type {
        Type { name, of, size, kind }
    }
    [
        of("BOOLEAN", Of::XdbcBit, 1, Kind::Other),
        of("TINYINT", Of::XdbcTinyint, 8, Kind::Bits),
        of("SMALLINT", Of::XdbcSmallint, 16, Kind::Bits),
        of("INTEGER", Of::XdbcInteger, 32, Kind::Bits),
        of("BIGINT", Of::XdbcBigint, 64, Kind::Bits),
        of("REAL", Of::XdbcReal, 32, Kind::Bits),
        of("DOUBLE", Of::XdbcDouble, 64, Kind::Bits),
        of("DECIMAL", Of::XdbcDecimal, 76, Kind::Digits),
        of("VARCHAR", Of::XdbcVarchar, i32::MAX, Kind::Text),
        of("BYTEA", Of::XdbcVarbinary, i32::MAX, Kind::Other),
        // 1 is the subcode of a date, too.
        of(
            "DATE",
            Of::XdbcDate,
            10,
            Kind::Time(XdbcDatetimeSubcode::XdbcSubcodeYear),
        ),
        of(
            "TIMESTAMP",
            Of::XdbcTimestamp,
            29,
            Kind::Time(XdbcDatetimeSubcode::XdbcSubcodeTimestamp),
        ),
    ]
};

/// The types.
static INFO: LazyLock<Result<XdbcTypeInfoData, FlightError>> = LazyLock::new(|| {
    let mut types = XdbcTypeInfoDataBuilder::new();
    for of in &TYPES {
        types.append(info_of(of));
    }
    types.build()
});

/// Returns the types.
pub(super) fn types() -> Result<&'static XdbcTypeInfoData, tonic::Status> {
    INFO.as_ref()
        .map_err(|error| tonic::Status::internal(error.to_string()))
}

fn info_of(of: &Type) -> XdbcTypeInfo {
    let is_quoted = matches!(of.kind, Kind::Text | Kind::Time(_));
    let quote = is_quoted.then(|| "'".to_owned());
    let is_number = matches!(of.kind, Kind::Bits | Kind::Digits);
    XdbcTypeInfo {
        type_name: of.name.to_owned(),
        data_type: of.of,
        column_size: Some(of.size),
        literal_prefix: quote.clone(),
        literal_suffix: quote,
        create_params: None,
        nullable: Nullable::NullabilityNullable,
        case_sensitive: of.kind == Kind::Text,
        searchable: Searchable::Full,
        unsigned_attribute: is_number.then_some(false),
        fixed_prec_scale: false,
        auto_increment: None,
        local_type_name: Some(of.name.to_owned()),
        minimum_scale: None,
        maximum_scale: None,
        sql_data_type: match of.kind {
            Kind::Time(_) => XdbcDataType::XdbcDatetime,
            _ => of.of,
        },
        datetime_subcode: match of.kind {
            Kind::Time(subcode) => Some(subcode),
            _ => None,
        },
        num_prec_radix: match of.kind {
            Kind::Bits => Some(2),
            Kind::Digits => Some(10),
            _ => None,
        },
        interval_precision: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_can_be_asked_for_one_by_one() {
        let types = types().unwrap();
        assert_eq!(types.record_batch(None).unwrap().num_rows(), TYPES.len());
        let texts = types.record_batch(XdbcDataType::XdbcVarchar as i32).unwrap();
        assert_eq!(texts.num_rows(), 1);
    }
}
