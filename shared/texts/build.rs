//! Embeds the templates, so that a function's binary is all there is to deploy.

fn main() {
    minijinja_embed::embed_templates!("templates", &[".txt", ".mrkdwn", ".html"]);
}
