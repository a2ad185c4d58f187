//! What processes use of the processor.

use std::time::Duration;

/// What all threads of a process have had so far.
pub fn used(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
    let of_thread = |thread: std::io::Result<std::fs::DirEntry>| {
        // A thread may end meanwhile.
        let schedule = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        schedule.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    threads.filter_map(of_thread).sum()
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn who_works_has_used_the_processor() {
        let before = used(std::process::id());
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(5) {}
        assert!(used(std::process::id()) > before);
    }
}
