//! Bars in a terminal.

/// The maximum number of columns of a chart.
pub const COLUMNS: usize = 64;

/// Lines of a chart, each of eight steps.
const LINES: usize = 4;

const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each of `counts`, the tallest as high as the chart. Every nonzero count is visible.
pub fn bars(counts: &[u64]) -> String {
    let tallest = counts.iter().copied().max().unwrap_or(0).max(1);
    let top = (LINES * 8) as u128;
    let height = |count: &u64| (u128::from(*count) * top).div_ceil(tallest.into()) as usize;
    let mut text = String::new();
    for line in (0..LINES).rev() {
        let bar = |count| STEPS[height(count).saturating_sub(line * 8).min(8)];
        let row: String = counts.iter().map(bar).collect();
        text += &format!("  {}\n", row.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tallest_fills_the_chart_and_the_least_shows() {
        let text = bars(&[0, 1, 500, 1_000]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["     █", "     █", "    ██", "   ▁██"]);
    }
}
