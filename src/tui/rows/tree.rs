//! Trees as rows: the order of the nodes, and the lines before each.

/// The lines of a tree before a node.
pub(super) fn branch(depths: &[usize], at: usize) -> String {
    let depth = depths[at].min(12);
    let goes_on = |level: usize| {
        let later = depths[at + 1..].iter().take_while(|depth| **depth >= level);
        later.clone().any(|depth| *depth == level)
    };
    let mut text = String::new();
    for level in 1..=depth {
        text.push_str(match (level == depth, goes_on(level)) {
            (true, true) => "├ ",
            (true, false) => "└ ",
            (false, true) => "│ ",
            (false, false) => "  ",
        });
    }
    text
}

/// A forest of nodes of which each needs others, as `(node, depth)` from the top down: a node is below the deepest one that it
/// needs, and of several the last, because it begins after all of them.
pub(super) fn forest(needs: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let mut depths = vec![0; needs.len()];
    // A way through all nodes is no longer than this, and so a circle does not go on for ever.
    for _ in needs {
        for (node, needs) in needs.iter().enumerate() {
            depths[node] = needs.iter().map(|need| depths[*need] + 1).max().unwrap_or(0);
        }
    }
    let parent = |node: usize| needs[node].iter().copied().max_by_key(|need| (depths[*need], *need));
    let children = |of: Option<usize>| (0..needs.len()).rev().filter(move |node| parent(*node) == of);
    let mut open: Vec<(usize, usize)> = children(None).map(|root| (root, 0)).collect();
    let (mut rows, mut is_known) = (vec![], vec![false; needs.len()]);
    while let Some((node, depth)) = open.pop() {
        is_known[node] = true;
        rows.push((node, depth));
        open.extend(children(Some(node)).map(|child| (child, depth + 1)));
    }
    rows.extend((0..needs.len()).filter(|node| !is_known[*node]).map(|node| (node, 0)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(names: &[&str], needs: &[&[usize]]) -> Vec<String> {
        let needs: Vec<Vec<usize>> = needs.iter().map(|needs| needs.to_vec()).collect();
        let rows = forest(&needs);
        let depths: Vec<usize> = rows.iter().map(|(_, depth)| *depth).collect();
        let line =
            |(at, (node, _)): (usize, &(usize, usize))| format!("{}{}", branch(&depths, at), names[*node]);
        rows.iter().enumerate().map(line).collect()
    }

    /// `c` was drawn below `b`, which it does not need.
    #[test]
    fn a_step_is_below_one_that_it_needs() {
        assert_eq!(drawn(&["a", "b", "c"], &[&[], &[], &[0]]), ["a", "└ c", "b"]);
        assert_eq!(drawn(&["a", "b", "c"], &[&[], &[0], &[0]]), ["a", "├ b", "└ c"]);
    }

    #[test]
    fn a_step_that_needs_several_is_below_the_one_that_comes_last() {
        let diamond: [&[usize]; 5] = [&[], &[0], &[0], &[1, 2], &[1]];
        assert_eq!(drawn(&["a", "b", "c", "d", "e"], &diamond), ["a", "├ b", "│ └ e", "└ c", "  └ d"]);
        // `report` needs `plan` and `build`, which needs `plan` too.
        assert_eq!(
            drawn(&["plan", "build", "report"], &[&[], &[0], &[0, 1]]),
            ["plan", "└ build", "  └ report"]
        );
    }

    #[test]
    fn a_circle_loses_no_step() {
        assert_eq!(drawn(&["a", "b", "c"], &[&[1], &[0], &[]]), ["c", "a", "b"]);
    }
}
