//! The tables: what each has, and what a stage decides.

use super::{each_of, text};
use crate::template::Value;

/// What is over when its socket closes.
const PASSING: [&str; 2] = ["LiveTicketsTable", "ConnectionsTable"];

#[test]
fn every_table_is_on_demand_encrypted_and_can_be_restored() {
    each_of("AWS::DynamoDB::Table", &[], |logical_id, table| {
        let properties = &table["Properties"];
        assert_eq!(text(properties, "BillingMode"), "PAY_PER_REQUEST", "{logical_id}");
        for (specification, flag) in
            [("SSESpecification", "SSEEnabled"), ("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled")]
        {
            assert_eq!(text(&properties[specification], flag), "true", "{logical_id}");
        }
    });
}

#[test]
fn log_groups_outlive_their_stack_in_production_alone() {
    for (stage, kept, replaced) in
        [("dev", "Delete", "Delete"), ("staging", "Delete", "Delete"), ("production", "RetainExceptOnCreate", "Retain")]
    {
        each_of("AWS::Logs::LogGroup", &[("Stage", stage)], |logical_id, group| {
            let policies = (text(group, "DeletionPolicy"), text(group, "UpdateReplacePolicy"));
            assert_eq!((policies.0.as_str(), policies.1.as_str()), (kept, replaced), "{logical_id} in {stage}");
        });
    }
}

#[test]
fn tables_and_indexes_are_warmed_only_where_the_mapping_says_so() {
    let warmed = |template: &str| {
        let sections = super::resolve(template, &super::parameters(&[])).unwrap_or_else(|error| panic!("{error}"));
        let resources = sections["Resources"].as_mapping().expect("resources").clone();
        let tables = resources.into_values().filter(|it| it["Type"] == "AWS::DynamoDB::Table");
        let indexes = |table: &yaml_serde::Value| super::items(&table["Properties"], "GlobalSecondaryIndexes");
        let all = tables.flat_map(|table| [vec![table["Properties"].clone()], indexes(&table)].concat());
        let (warm, cold): (Vec<_>, Vec<_>) = all.partition(|it| it.get("WarmThroughput").is_some());
        (warm.len(), cold.len())
    };
    let (warm, cold) = warmed(super::TEMPLATE);
    assert_eq!(warm, 0);
    let asked = super::TEMPLATE.replace(r#"WarmTables: "false""#, r#"WarmTables: "true""#);
    assert_eq!(warmed(&asked), (cold, 0));
}

#[test]
fn tables_outlive_their_stack_in_production_alone() {
    for (stage, protected, kept, replaced) in [
        ("dev", "false", "Delete", "Delete"),
        ("staging", "false", "Delete", "Delete"),
        ("production", "true", "RetainExceptOnCreate", "Retain"),
    ] {
        let mut tables = 0;
        each_of("AWS::DynamoDB::Table", &[("Stage", stage)], |logical_id, table| {
            tables += 1;
            let passing = PASSING.contains(&logical_id);
            let expected = if passing { ("Delete", "Delete") } else { (kept, replaced) };
            let policies = (text(table, "DeletionPolicy"), text(table, "UpdateReplacePolicy"));
            assert_eq!((policies.0.as_str(), policies.1.as_str()), expected, "{logical_id} in {stage}");
            let protection = table["Properties"].get("DeletionProtectionEnabled");
            let protection = protection.map(|flag| Value::read(flag).expect("a flag").to_string());
            assert_eq!(protection.as_deref(), (!passing).then_some(protected), "{logical_id} in {stage}");
        });
        assert_eq!(tables, 19);
    }
}
