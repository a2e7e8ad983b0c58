//! A full-screen view of a server's statistics.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use diskarm_serve::{ExportStatistics, Lateness, Stopper, TOO_SLOW};
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Constraint, Layout};
use ratatui::prelude::CrosstermBackend;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Paragraph, Row, Table};
use ratatui::{Frame, Terminal};

const TICK: Duration = Duration::from_millis(500);

/// Shows `statistics` until `end` closes or the server stops. q and Ctrl-C stop the server.
pub fn run(
    statistics: impl Fn() -> Option<Vec<ExportStatistics>>,
    stopper: &Stopper,
    end: &Receiver<()>,
) -> io::Result<()> {
    enable_raw_mode()?;
    let shown = show(statistics, stopper, end);
    restore();
    shown
}

pub fn restore() {
    // Errors from a closed terminal do not matter.
    let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

fn show(
    statistics: impl Fn() -> Option<Vec<ExportStatistics>>,
    stopper: &Stopper,
    end: &Receiver<()>,
) -> io::Result<()> {
    // Some terminals have no alternate screen, so earlier output must be cleared.
    execute!(io::stderr(), EnterAlternateScreen, Clear(ClearType::All))?;
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stderr()))?;
    let mut previous: Option<(Instant, Vec<ExportStatistics>)> = None;
    let mut status = KEYS;
    while end.try_recv() == Err(TryRecvError::Empty) {
        let now = Instant::now();
        let Some(statistics) = statistics() else {
            break;
        };
        let rates = match &previous {
            None => vec![0.0; statistics.len()],
            Some((at, previous)) => rates(previous, &statistics, now - *at),
        };
        terminal.draw(|frame| draw(frame, &statistics, &rates, status))?;
        previous = Some((now, statistics));
        if event::poll(TICK)? && is_stop_key(&event::read()?) {
            stopper.stop();
            status = "stopping";
        }
    }
    Ok(())
}

const KEYS: &str = "q stops the server";

fn is_stop_key(event: &Event) -> bool {
    let Event::Key(key) = event else {
        return false;
    };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Char('q') || key.code == KeyCode::Char('c') && is_control
}

fn requests(statistics: &ExportStatistics) -> u64 {
    let counts = statistics.counts.kinds();
    counts.iter().map(|(_, count)| count).sum()
}

fn rates(before: &[ExportStatistics], now: &[ExportStatistics], passed: Duration) -> Vec<f64> {
    let pairs = before.iter().zip(now);
    let increases = pairs.map(|(before, now)| requests(now).saturating_sub(requests(before)));
    let seconds = passed.as_secs_f64().max(1e-9);
    increases.map(|count| count as f64 / seconds).collect()
}

const HEADER: [&str; 9] = [
    "export",
    "connections",
    "requests",
    "per s",
    "50 %",
    "99 %",
    "99.9 %",
    "max",
    "limit",
];

/// Draws a row and a verdict for each export.
fn draw(frame: &mut Frame<'_>, exports: &[ExportStatistics], rates: &[f64], status: &str) {
    let verdicts: Vec<Line<'_>> = exports.iter().filter_map(verdict).collect();
    let rows = exports.len() as u16 + 3;
    let areas = [Constraint::Length(rows), Constraint::Min(0)];
    let [table, below] = Layout::vertical(areas).areas(frame.area());
    let rows = exports.iter().zip(rates).map(|(statistics, rate)| {
        let late = statistics.lateness.as_ref();
        let us = |of: fn(&Lateness) -> f64| late.map_or_else(|| "-".into(), |late| time(of(late)));
        let cells = [
            name(statistics).to_owned(),
            statistics.connections.to_string(),
            requests(statistics).to_string(),
            format!("{rate:.0}"),
            us(|late| late.p50_us),
            us(|late| late.p99_us),
            us(|late| late.p999_us),
            us(|late| late.max_us),
            us(|late| late.bound_us),
        ];
        let is_slow = late.is_some_and(|late| !late.keeps_time);
        let style = Style::new();
        Row::new(align(cells)).style(if is_slow { style.fg(Color::Red) } else { style })
    });
    let widths = [18, 11, 9, 7, 9, 9, 9, 9, 9].map(Constraint::Length);
    let block = Block::bordered()
        .title(" diskarm serve: lateness of replies ")
        .title_bottom(Line::from(format!(" {status} ")).right_aligned());
    let all = Table::new(rows, widths)
        .header(Row::new(align(HEADER.map(str::to_owned))).bold())
        .block(block);
    frame.render_widget(all, table);
    frame.render_widget(Paragraph::new(verdicts), below);
}

/// Aligns names to the left and numbers to the right.
fn align(cells: [String; HEADER.len()]) -> Vec<Text<'static>> {
    let mut cells: Vec<_> = cells.map(|cell| Text::from(cell).right_aligned()).into();
    cells[0] = cells[0].clone().left_aligned();
    cells
}

fn name(statistics: &ExportStatistics) -> &str {
    match &*statistics.export {
        "" => &statistics.drive,
        name => name,
    }
}

fn verdict(statistics: &ExportStatistics) -> Option<Line<'static>> {
    let late = statistics.lateness.as_ref()?;
    let name = name(statistics);
    Some(if late.keeps_time {
        Line::from(format!("{name}: on time")).fg(Color::Green)
    } else {
        Line::from(format!("{name}: {TOO_SLOW}"))
            .fg(Color::Red)
            .bold()
    })
}

fn time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.1} us"),
        us if us < 1e6 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::units::{Bytes, Span};
    use diskarm_serve::{ExportSpec, Pace, Speed, Statistics};
    use ratatui::backend::TestBackend;

    use super::*;

    fn statistics(text: &str, late: &[f64]) -> ExportStatistics {
        let spec = ExportSpec::parse(text, "--export").expect("a valid spec");
        let pace = Pace {
            speed: Some(Speed::REAL),
            spins: false,
            bound: Span::from_us(100.0),
        };
        let mut served = Statistics {
            connections: 2,
            ..Statistics::default()
        };
        for us in late {
            served.record_lateness(Span::from_us(*us));
        }
        served.counts.reads = late.len() as u64;
        spec.statistics(pace, Bytes(1 << 20), &served)
    }

    #[test]
    fn the_screen_has_a_row_and_a_verdict_for_each_export() {
        let before = [
            statistics("db(drive=hp-c2247)", &[]),
            statistics("log(drive=x)", &[]),
        ];
        let now = [
            statistics("db(drive=hp-c2247)", &[5.0, 9.0, 20.0]),
            statistics("log(drive=x)", &[50.0, 2500.0]),
        ];
        let rates = rates(&before, &now, TICK);
        let mut terminal = Terminal::new(TestBackend::new(100, 8)).expect("a terminal");
        let drawn = terminal.draw(|frame| draw(frame, &now, &rates, KEYS));
        drawn.expect("the screen was drawn");
        let buffer = terminal.backend().buffer();
        let line = |row: u16| -> String {
            let cells = (0..100).map(|column| buffer[(column, row)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        let shown: Vec<String> = (0..7).map(line).collect();
        assert_eq!(shown.join("\n"), SCREEN);
        let color = |row| buffer[(1, row)].fg;
        // A row for each export, then a verdict for each.
        let found = [2, 3, 5, 6].map(color);
        assert_eq!(found, [Color::Reset, Color::Red, Color::Green, Color::Red]);
    }

    const SCREEN: &str = "\
┌ diskarm serve: lateness of replies ──────────────────────────────────────────────────────────────┐
│export             connections  requests   per s      50 %      99 %    99.9 %       max     limit│
│db                           2         3       6    9.0 us   20.0 us   20.0 us   20.0 us  100.0 us│
│log                          2         2       4   50.0 us    2.5 ms    2.5 ms    2.5 ms  100.0 us│
└────────────────────────────────────────────────────────────────────────────── q stops the server ┘
db: on time
log: this host is too slow for this drive";
}
