//! The difference of two texts, line by line, like `diff -u`. Pure.

/// How many equal lines are shown around a change.
const AROUND: usize = 2;

/// Above this many pairs of lines, the middle is shown as removed and added.
const PAIRS: usize = 4_000_000;

/// Removed lines (`- `), added lines (`+ `) and those around them (two spaces); `…` for skipped ones.
pub fn difference(before: &[String], after: &[String]) -> Vec<String> {
    let all = aligned(before, after);
    let is_near = |at: usize| {
        let around = &all[at.saturating_sub(AROUND)..(at + AROUND + 1).min(all.len())];
        around.iter().any(|(sign, _)| *sign != ' ')
    };
    let mut shown: Vec<String> = vec![];
    for (at, (sign, line)) in all.iter().enumerate() {
        if is_near(at) {
            shown.push(format!("{sign} {line}"));
        } else if shown.last().is_none_or(|last| last != "…") {
            shown.push("…".to_owned());
        }
    }
    shown
}

/// Every line of both with its sign; the longest common part appears once.
fn aligned<'a>(before: &'a [String], after: &'a [String]) -> Vec<(char, &'a str)> {
    let head = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (left, right) = (&before[head..], &after[head..]);
    let tail = left.iter().rev().zip(right.iter().rev()).take_while(|(one, other)| one == other).count();
    let (left, right) = (&left[..left.len() - tail], &right[..right.len() - tail]);
    let mut all: Vec<(char, &str)> = before[..head].iter().map(|line| (' ', line.as_str())).collect();
    middle(left, right, &mut all);
    all.extend(before[before.len() - tail..].iter().map(|line| (' ', line.as_str())));
    all
}

fn middle<'a>(left: &'a [String], right: &'a [String], all: &mut Vec<(char, &'a str)>) {
    let (mut i, mut j) = (0, 0);
    if left.len().saturating_mul(right.len()) <= PAIRS {
        // The length of the common part of both remainders.
        let width = right.len() + 1;
        let mut common = vec![0u32; (left.len() + 1) * width];
        for i in (0..left.len()).rev() {
            for j in (0..right.len()).rev() {
                common[i * width + j] = match left[i] == right[j] {
                    true => common[(i + 1) * width + j + 1] + 1,
                    false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
                };
            }
        }
        while i < left.len() && j < right.len() {
            if left[i] == right[j] {
                all.push((' ', &left[i]));
                (i, j) = (i + 1, j + 1);
            } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
                all.push(('-', &left[i]));
                i += 1;
            } else {
                all.push(('+', &right[j]));
                j += 1;
            }
        }
    }
    all.extend(left[i..].iter().map(|line| ('-', line.as_str())));
    all.extend(right[j..].iter().map(|line| ('+', line.as_str())));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(before: &str, after: &str) -> String {
        let lines = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        difference(&lines(before), &lines(after)).join("|")
    }

    #[test]
    fn lines_that_went_and_came() {
        assert_eq!(of("a b c", "a x c"), "  a|- b|+ x|  c");
        assert_eq!(of("a b c d e f g", "a b c d e f h"), "…|  e|  f|- g|+ h");
        assert_eq!(of("1 2 3 4 5 6 7 8 9", "0 1 2 3 4 5 6 7 8"), "+ 0|  1|  2|…|  7|  8|- 9");
        assert_eq!(of("", "a"), "+ a");
        assert_eq!(of("a b x c d", "a b y c z d"), "  a|  b|- x|+ y|  c|+ z|  d");
    }

    #[test]
    fn long_texts_end_too() {
        let many = |sign: &str| (0..5000).map(|n| format!("{sign}{n}")).collect::<Vec<_>>();
        assert_eq!(difference(&many("a"), &many("b")).len(), 10_000);
    }
}
