//! Strongly connected components, iteratively (Tarjan), callees before callers.

/// The components of the graph `0..count`; a component comes after every component it leads to.
pub fn components<I: Iterator<Item = u32>>(
    count: usize,
    successors: impl Fn(u32) -> I,
) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let mut index = vec![UNSEEN; count];
    let mut low = vec![0u32; count];
    let mut on_stack = vec![false; count];
    let mut stack = Vec::new();
    let mut next = 0u32;
    let mut result = Vec::new();
    for root in 0..count as u32 {
        if index[root as usize] != UNSEEN {
            continue;
        }
        let mut work: Vec<(u32, I)> = Vec::new();
        let mut enter = |node: u32,
                         work: &mut Vec<(u32, I)>,
                         stack: &mut Vec<u32>,
                         on: &mut [bool],
                         index: &mut [u32],
                         low: &mut [u32]| {
            index[node as usize] = next;
            low[node as usize] = next;
            next += 1;
            stack.push(node);
            on[node as usize] = true;
            work.push((node, successors(node)));
        };
        enter(root, &mut work, &mut stack, &mut on_stack, &mut index, &mut low);
        while let Some((node, edges)) = work.last_mut() {
            let node = *node;
            match edges.next() {
                Some(to) if index[to as usize] == UNSEEN => {
                    enter(to, &mut work, &mut stack, &mut on_stack, &mut index, &mut low);
                }
                Some(to) => {
                    if on_stack[to as usize] {
                        low[node as usize] = low[node as usize].min(index[to as usize]);
                    }
                }
                None => {
                    work.pop();
                    if let Some((parent, _)) = work.last() {
                        let parent = *parent as usize;
                        low[parent] = low[parent].min(low[node as usize]);
                    }
                    if low[node as usize] == index[node as usize] {
                        let mut component = Vec::new();
                        loop {
                            let member = stack.pop().expect("the component's root is on the stack");
                            on_stack[member as usize] = false;
                            component.push(member);
                            if member == node {
                                break;
                            }
                        }
                        component.sort_unstable();
                        result.push(component);
                    }
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn callees_come_first_and_cycles_stay_together() {
        let edges: [&[u32]; 5] = [&[1], &[2], &[1, 3], &[], &[0]];
        let found = components(5, |node| edges[node as usize].iter().copied());
        assert_eq!(found, vec![vec![3], vec![1, 2], vec![0], vec![4]]);
    }
}
