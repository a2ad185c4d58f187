//! The delivery job of a send, for what is not on the kernel yet.

use std::collections::BTreeMap;

use domain::send::ChannelSend;

/// The message's body.
pub fn write(send: &ChannelSend) -> Result<String, serde_json::Error> {
    serde_json::to_string(&send.id)
}

/// The message's attributes.
pub fn attributes(send: &ChannelSend) -> BTreeMap<&'static str, String> {
    let mut attributes = BTreeMap::from([
        ("event_id", send.id.event_id.to_string()),
        ("event_type", send.event_type.clone()),
        ("channel", send.id.channel.as_str().to_owned()),
        ("recipient_type", send.id.audience.to_string()),
    ]);
    if let Some(traceparent) = &send.traceparent {
        attributes.insert("traceparent", traceparent.to_string());
    }
    attributes
}
