//! A bar chart as SVG, legible on light and on dark.

use std::fmt::Write;

const WIDTH: usize = 760;
const ROW: usize = 26;
const LABEL: usize = 300;

/// One bar for each value, on a scale of powers of ten.
pub fn bars(title: &str, rows: &[(String, f64)]) -> String {
    let height = 48 + rows.len() * ROW;
    let values = || rows.iter().map(|(_, value)| *value).filter(|value| *value > 0.0);
    let least = values().fold(f64::INFINITY, f64::min).log10().floor();
    let most = values().fold(0.0, f64::max).log10().ceil().max(least + 1.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <style>text {{ fill: #57606a }} .bar {{ fill: #2f6feb }} .line {{ stroke: #8c959f; stroke-opacity: .35 }} \
         @media (prefers-color-scheme: dark) {{ text {{ fill: #9da7b1 }} .bar {{ fill: #6ea8fe }} }}</style>\n\
         <text x=\"8\" y=\"20\" font-weight=\"600\">{} \
         <tspan font-weight=\"400\">(from line to line ten times as much)</tspan></text>\n",
        escaped(title)
    );
    let right = WIDTH - 80;
    let place = |value: f64| {
        let part = (value.max(f64::MIN_POSITIVE).log10() - least) / (most - least);
        LABEL as f64 + part.clamp(0.004, 1.0) * (right - LABEL) as f64
    };
    let mut power = least;
    while power <= most {
        let x = place(10_f64.powf(power));
        let _ = writeln!(svg, "<line class=\"line\" x1=\"{x:.0}\" x2=\"{x:.0}\" y1=\"32\" y2=\"{}\"/>", height - 8);
        power += 1.0;
    }
    for (index, (label, value)) in rows.iter().enumerate() {
        let y = 36 + index * ROW;
        let width = place(*value) - LABEL as f64;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect class=\"bar\" x=\"{LABEL}\" y=\"{}\" width=\"{width:.0}\" height=\"16\" rx=\"3\"/>\
             <text x=\"{:.0}\" y=\"{}\">{}</text>",
            LABEL - 8,
            y + 14,
            escaped(label),
            y + 2,
            LABEL as f64 + width + 6.0,
            y + 14,
            short(*value),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn short(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_value_and_a_label_is_text() {
        let svg = bars("t", &[("<one>".to_owned(), 1.0), ("ten".to_owned(), 10.0), ("hundred".to_owned(), 100.0)]);
        assert!(svg.contains("&lt;one&gt;") && !svg.contains("<one>"));
        let widths: Vec<u32> = svg
            .split("class=\"bar\"")
            .skip(1)
            .filter_map(|rest| rest.split("width=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert_eq!(widths.len(), 3);
        assert!(widths[0] < widths[1] && widths[1] < widths[2], "{widths:?}");
    }
}
