package record

import (
	"encoding/hex"
	"slices"
)

// Node is a message of a conversation that is a tree.
type Node struct {
	ID, Parent string // a node whose Parent is "" or unknown begins the conversation
	Raw        []byte
	Fork       string // "" for what is in the session; set by [Tree]
}

// Tree sorts the messages of a conversation: each comes after its parent, and abandoned branches come before the one
// that was continued. The messages from the root to the leaf with this id, or to the last node if there is no such leaf,
// are the session; the others get a Fork. If several nodes have the same id, the first one is the parent of their
// children. No node is left out, even if parents form a circle.
func Tree(nodes []Node, leaf string) []Node {
	at, children := map[string]int{}, map[string][]int{}
	for i, n := range nodes {
		if _, ok := at[n.ID]; !ok {
			at[n.ID] = i
		}
	}
	var roots []int
	for i, n := range nodes {
		if _, ok := at[n.Parent]; ok && n.Parent != n.ID && at[n.ID] == i {
			children[n.Parent] = append(children[n.Parent], i)
		} else {
			roots = append(roots, i)
		}
	}
	kept, last := map[int]bool{}, len(nodes)-1
	if i, ok := at[leaf]; ok {
		last = i
	}
	for ok := last >= 0; ok && !kept[last]; {
		kept[last] = true
		last, ok = at[nodes[last].Parent]
	}
	t := &tree{nodes: nodes, at: at, children: children, kept: kept, done: make([]bool, len(nodes))}
	t.from(roots)
	for i := range nodes { // those in circles have no root
		t.from([]int{i})
	}
	return t.out
}

type tree struct {
	nodes    []Node
	at       map[string]int
	children map[string][]int
	kept     map[int]bool
	done     []bool
	out      []Node
}

// from adds nodes and their descendants.
func (t *tree) from(stack []int) {
	stack = t.reversed(stack)
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if t.done[i] {
			continue
		}
		t.done[i] = true
		n := &t.nodes[i]
		if !t.kept[i] {
			if parent, ok := t.at[n.Parent]; ok && t.done[parent] {
				n.Fork = t.nodes[parent].Fork
			}
			if n.Fork == "" {
				n.Fork = branchName(n.ID)
			}
		}
		t.out = append(t.out, *n)
		if t.at[n.ID] == i {
			stack = append(stack, t.reversed(t.children[n.ID])...)
		}
	}
}

// reversed returns nodes as a stack, in reverse order. The node of the session is taken from it last.
func (t *tree) reversed(list []int) []int {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b int) int {
		switch {
		case t.kept[a] == t.kept[b]:
			return b - a
		case t.kept[a]:
			return -1
		}
		return 1
	})
	return list
}

// branchName returns a valid name of a fork for any id.
func branchName(id string) string {
	if IsUUID(id) {
		return BranchPrefix + id
	}
	sum := SumOf(id)
	return BranchPrefix + hex.EncodeToString(sum[:])
}
