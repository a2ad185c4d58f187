//! The tables: what each has, and what a stage decides.

use super::{each_of, text};

/// What is over when its socket closes.
const PASSING: [&str; 2] = ["LiveTicketsTable", "ConnectionsTable"];

#[test]
fn every_table_is_on_demand_encrypted_and_can_be_restored() {
    each_of("AWS::DynamoDB::Table", &[], |logical_id, table| {
        let properties = table.need("Properties").expect("properties");
        assert_eq!(text(&properties, "BillingMode"), "PAY_PER_REQUEST", "{logical_id}");
        for (specification, flag) in
            [("SSESpecification", "SSEEnabled"), ("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled")]
        {
            let on = properties.need(specification).map(|entry| text(&entry, flag));
            assert_eq!(on.expect("the specification"), "true", "{logical_id}");
        }
    });
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
            let properties = table.need("Properties").expect("properties");
            let protection = properties.get("DeletionProtectionEnabled").expect("readable");
            let protection = protection.map(|flag| flag.text().expect("a flag"));
            assert_eq!(protection.as_deref(), (!passing).then_some(protected), "{logical_id} in {stage}");
        });
        assert_eq!(tables, 19);
    }
}
