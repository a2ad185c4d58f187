use domain::Audience;
use serde_json::{Value, json};
use texts::{Language, Reader};

use crate::{payload, texts};

fn reader() -> Reader {
    Reader::new(Language::En, None)
}

fn announcement(title: &str, body: &str) -> Value {
    json!({"title": title, "body": body})
}

#[test]
fn markup_in_a_value_is_escaped_in_mail() {
    let hostile = announcement("<script>a</script>", "<img src=x onerror=\"a\">\n&amp; {{ 7 * 7 }} {% raw %}");
    let mail = texts().email("Announcement", Audience::Customer, &reader(), &hostile).expect("a mail");
    assert_eq!(mail.subject, "<script>a</script>");
    assert!(mail.text.contains("<img src=x onerror=\"a\">"), "a plain part shows it as it is: {}", mail.text);
    assert!(!mail.html.contains("<script") && !mail.html.contains("<img"), "{}", mail.html);
    assert!(
        mail.html.contains("&lt;script&gt;a") && mail.html.contains("&amp;amp; {{ 7 * 7 }} {% raw %}"),
        "{}",
        mail.html
    );
}

#[test]
fn value_mentions_nobody_in_slack() {
    let texts = texts();
    let hostile = announcement("<!channel> @here", "<@U1> <https://evil.example|your bank> @everyone & co");
    let message = texts.slack("Announcement", Audience::AdminUser, &reader(), &hostile).expect("a message");
    assert_eq!(
        message,
        "*&lt;!channel&gt; @\u{200b}here*\n&lt;@U1&gt; &lt;https://evil.example|your bank&gt; @\u{200b}everyone &amp; co"
    );
    // The same in a template of Slack's own.
    let mut hostile = payload("ReservationRequested");
    hostile["reservation_id"] = json!("<!channel>");
    let message =
        texts.slack("ReservationRequested", Audience::RestaurantUser, &reader(), &hostile).expect("a message");
    assert!(message.contains("`&lt;!channel&gt;`"), "{message}");
}

#[test]
fn line_break_in_a_title_adds_no_header() {
    let texts = texts();
    let hostile = announcement("Sale\r\nBcc: everybody@example.com\u{0}\u{2028}\u{202e}!", "Body\u{1b}[31m");
    let title = "Sale Bcc: everybody@example.com !";
    let mail = texts.email("Announcement", Audience::Customer, &reader(), &hostile).expect("a mail");
    assert_eq!((mail.subject.as_str(), mail.text.as_str()), (title, "Body[31m"));
    let inbox = texts.inbox("Announcement", Audience::Customer, &reader(), &hostile).expect("a text");
    assert_eq!((inbox.title.as_str(), inbox.body.as_str()), (title, "Body[31m"));
    let push = texts.push("Announcement", Audience::Customer, &reader(), &hostile).expect("a text");
    assert_eq!(push.title, title);
    let sms = texts.sms("Announcement", Audience::Customer, &reader(), &hostile).expect("a text");
    assert_eq!(sms, format!("{title}: Body [31m"));
}

#[test]
fn long_text_is_cut_except_in_mail() {
    let texts = texts();
    let long = "wörd & ".repeat(1_500);
    let hostile = announcement(&long, &long);
    let mail = texts.email("Announcement", Audience::AdminUser, &reader(), &hostile).expect("a mail");
    assert_eq!(mail.text, long.trim());
    assert!(mail.subject.chars().count() <= 200 && mail.subject.ends_with('…'), "{}", mail.subject);
    let inbox = texts.inbox("Announcement", Audience::AdminUser, &reader(), &hostile).expect("a text");
    assert!(inbox.body.len() <= 8_192 && inbox.body.ends_with('…'));
    let push = texts.push("Announcement", Audience::AdminUser, &reader(), &hostile).expect("a text");
    assert!(push.body.len() + push.title.len() <= 3_072);
    let sms = texts.sms("Announcement", Audience::AdminUser, &reader(), &hostile).expect("a text");
    assert!(sms.chars().count() <= 160 && sms.ends_with("..."), "{sms}");
    let slack = texts.slack("Announcement", Audience::AdminUser, &reader(), &hostile).expect("a message");
    assert!(slack.chars().count() <= 8_000 && slack.ends_with('…'));
}

#[test]
fn emoji_stays_in_an_sms_with_room_for_it() {
    let texts = texts();
    let short = texts.sms("Announcement", Audience::Customer, &reader(), &announcement("🎉 Open", "Come in"));
    assert_eq!(short.expect("a text"), "🎉 Open: Come in");
    let body = "Come in and taste what the new kitchen does with artichokes this spring";
    let long = texts.sms("Announcement", Audience::Customer, &reader(), &announcement("🎉 Open", body));
    assert_eq!(long.expect("a text"), format!("Open: {body}"));
}
