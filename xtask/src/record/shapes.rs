//! Characters that are drawn as rectangles, as terminals do it, so that they join: lines of boxes and parts of blocks.
//! Fonts have them in different sizes, with gaps between the rows.

/// The size of a cell, in the units of the picture.
pub(crate) const WIDTH: usize = 8;
pub(crate) const HEIGHT: usize = 17;

/// Left, top, width and height within a cell, in hundredths of it; a line is as thick as [`LINE`] says.
type Part = (u32, u32, u32, u32);

/// Stands for the thickness of a line, as a width or a height.
const LINE: u32 = 0;

const LEFT: Part = (0, 50, 50, LINE);
const RIGHT: Part = (50, 50, 50, LINE);
const UP: Part = (50, 0, LINE, 50);
const DOWN: Part = (50, 50, LINE, 50);
const UPPER_LEFT: Part = (0, 0, 50, 50);
const UPPER_RIGHT: Part = (50, 0, 50, 50);
const LOWER_LEFT: Part = (0, 50, 50, 50);
const LOWER_RIGHT: Part = (50, 50, 50, 50);
const UPPER: Part = (0, 0, 100, 50);
const LOWER: Part = (0, 50, 100, 50);

/// The rectangles of a character that is repeated so many times, as x, y, width and height from the left of the first.
pub(crate) fn rectangles(character: char, times: usize) -> Option<Vec<[f64; 4]>> {
    let parts: &[Part] = match character {
        '─' | '━' => &[(0, 50, 100, LINE)],
        '│' | '┃' => &[(50, 0, LINE, 100)],
        '┌' | '╭' => &[RIGHT, DOWN],
        '┐' | '╮' => &[LEFT, DOWN],
        '└' | '╰' | '⎿' => &[RIGHT, UP],
        '┘' | '╯' => &[LEFT, UP],
        '├' => &[RIGHT, UP, DOWN],
        '┤' => &[LEFT, UP, DOWN],
        '┬' => &[LEFT, RIGHT, DOWN],
        '┴' => &[LEFT, RIGHT, UP],
        '┼' => &[LEFT, RIGHT, UP, DOWN],
        '█' => &[(0, 0, 100, 100)],
        '▀' => &[UPPER],
        '▄' => &[LOWER],
        '▌' => &[(0, 0, 50, 100)],
        '▐' => &[(50, 0, 50, 100)],
        '▎' => &[(0, 0, 25, 100)],
        '▏' => &[(0, 0, 13, 100)],
        '▘' => &[UPPER_LEFT],
        '▝' => &[UPPER_RIGHT],
        '▖' => &[LOWER_LEFT],
        '▗' => &[LOWER_RIGHT],
        '▚' => &[UPPER_LEFT, LOWER_RIGHT],
        '▞' => &[UPPER_RIGHT, LOWER_LEFT],
        '▛' => &[UPPER, LOWER_LEFT],
        '▜' => &[UPPER, LOWER_RIGHT],
        '▙' => &[LOWER, UPPER_LEFT],
        '▟' => &[LOWER, UPPER_RIGHT],
        // Some systems have it only as a picture in colour.
        '⏸' => &[(20, 25, 20, 50), (60, 25, 20, 50)],
        _ => return None,
    };
    let place = |index: usize, &(x, y, width, height): &Part, times: usize| {
        let across = |part: u32| f64::from(part) / 100.0 * WIDTH as f64;
        let down = |part: u32| f64::from(part) / 100.0 * HEIGHT as f64;
        // A line lies on the middle, half on each side.
        let (x, width) = if width == LINE { (across(x) - 0.5, 1.0) } else { (across(x), across(width)) };
        let (y, height) = if height == LINE { (down(y) - 0.5, 1.0) } else { (down(y), down(height)) };
        [x + (index * WIDTH) as f64, y, width * times as f64, height]
    };
    // What fills the width of its cell goes on through all of them.
    let (whole, single): (Vec<&Part>, Vec<&Part>) = parts.iter().partition(|part| part.2 == 100);
    let mut found: Vec<_> = whole.into_iter().map(|part| place(0, part, times)).collect();
    found.extend((0..times).flat_map(|index| single.iter().map(move |part| place(index, part, 1))));
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_blocks_join_across_cells() {
        assert_eq!(rectangles('─', 3), Some(vec![[0.0, 8.0, 24.0, 1.0]]));
        assert_eq!(rectangles('│', 1), Some(vec![[3.5, 0.0, 1.0, 17.0]]));
        assert_eq!(rectangles('▐', 2), Some(vec![[4.0, 0.0, 4.0, 17.0], [12.0, 0.0, 4.0, 17.0]]));
        assert_eq!(rectangles('▛', 1), Some(vec![[0.0, 0.0, 8.0, 8.5], [0.0, 8.5, 4.0, 8.5]]));
        assert_eq!(rectangles('x', 1), None);
    }
}
