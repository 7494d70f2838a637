//! The dialect of statements: the parser's generic one, with lambda functions (`x -> x + 1`).

use std::any::TypeId;

use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect};

/// The dialect of statements.
#[derive(Debug)]
pub(crate) struct WeftDialect;

/// Answers for these features what the generic dialect answers.
macro_rules! as_generic {
    ($($feature:ident)*) => {
        $(fn $feature(&self) -> bool {
            GenericDialect.$feature()
        })*
    };
}

impl Dialect for WeftDialect {
    // The parser also decides by the name of the dialect.
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        GenericDialect.is_identifier_part(ch)
    }

    fn supports_lambda_functions(&self) -> bool {
        true
    }

    as_generic! {
        supports_unicode_string_literal
        supports_partition_by_after_order_by
        supports_array_join_syntax
        supports_group_by_expr
        supports_group_by_with_modifier
        supports_left_associative_joins_without_parens
        supports_connect_by
        supports_match_recognize
        supports_pipe_operator
        supports_start_transaction_modifier
        supports_window_function_null_treatment_arg
        supports_dictionary_syntax
        supports_window_clause_named_window_reference
        supports_parenthesized_set_variables
        supports_select_wildcard_except
        support_map_literal_syntax
        allow_extract_custom
        allow_extract_single_quotes
        supports_extract_comma_syntax
        supports_create_view_comment_syntax
        supports_parens_around_table_factor
        supports_values_as_table_factor
        supports_create_index_with_clause
        supports_explain_with_utility_options
        supports_limit_comma
        supports_update_order_by
        supports_from_first_select
        supports_projection_trailing_commas
        supports_asc_desc_in_column_definition
        supports_try_convert
        supports_bitwise_shift_operators
        supports_comment_on
        supports_load_extension
        supports_named_fn_args_with_assignment_operator
        supports_struct_literal
        supports_empty_projections
        supports_nested_comments
        supports_multiline_comment_hints
        supports_user_host_grantee
        supports_string_escape_constant
        supports_array_typedef_with_brackets
        supports_match_against
        supports_set_names
        supports_comma_separated_set_assignments
        supports_filter_during_aggregation
        supports_select_wildcard_exclude
        supports_data_type_signed_suffix
        supports_interval_options
        supports_quote_delimited_string
        supports_select_wildcard_replace
        supports_select_wildcard_ilike
        supports_select_wildcard_rename
        supports_optimize_table
        supports_install
        supports_detach
        supports_prewhere
        supports_with_fill
        supports_limit_by
        supports_interpolate
        supports_settings
        supports_select_format
        supports_comment_optimizer_hint
        supports_constraint_keyword_without_name
        supports_key_column_option
        supports_comma_separated_trim
        supports_cte_without_as
        supports_select_item_multi_column_alias
        supports_xml_expressions
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn statements_mean_what_they_mean_in_the_generic_dialect() {
        for statement in [
            "SELECT a `b c`, \"d\" FROM t GROUP BY ROLLUP (a)",
            "SELECT * EXCLUDE (a) FROM t QUALIFY row_number() OVER (ORDER BY a) = 1",
            "SELECT sum(a) FILTER (WHERE b > 1) FROM UNNEST([1, 2]) AS t(a)",
            "SELECT map {'a': 1}['a'], {'b': 2}, extract(year FROM c), E'\\n', X'00' FROM t",
            "FROM t SELECT a LIMIT 1, 2",
            "EXPLAIN ANALYZE SELECT 1 << 2, CAST(a AS DOUBLE)[1], trim(BOTH 'x' FROM b)",
        ] {
            let ours = Parser::parse_sql(&WeftDialect, statement);
            assert_eq!(ours, Parser::parse_sql(&GenericDialect, statement), "{statement}");
        }
        let lambda = "SELECT array_transform([1, 2], x -> x + 1)";
        let parsed = Parser::parse_sql(&WeftDialect, lambda).unwrap();
        assert_eq!(parsed[0].to_string(), lambda);
    }
}
