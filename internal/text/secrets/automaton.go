package secrets

// automaton finds a set of literals in one pass (Aho and Corasick, 1975), ignoring the case
// of ASCII. State 0 is the start. In states from firstFound on, at least one literal ends.
type automaton struct {
	class      [256]uint16
	width      uint32   // classes: the length of a state's row
	next       []uint32 // the next state, by state and class; states are numbered in multiples of width
	firstFound uint32
	found      [][]uint16 // the literals that end in a state, for states from firstFound on
}

// fold is the lower case of an ASCII letter.
func fold(c byte) byte {
	if c-'A' < 26 {
		return c + 'a' - 'A'
	}
	return c
}

// node is a state while the automaton is built. Node 0 is the start, so 0 also stands for no node.
type node struct {
	class          uint16 // the class of the byte that leads here
	child, sibling uint32 // the first node that continues this one, and the next one that continues the same node
	fail           uint32 // the node of the longest suffix with which a literal begins
	ends           []uint16
}

// trie has nodes in order of creation.
type trie []node

// step returns the node that continues one with a class, 0 if there is none.
func (t trie) step(at uint32, class uint16) uint32 {
	to := t[at].child
	for to != 0 && t[to].class != class {
		to = t[to].sibling
	}
	return to
}

func newAutomaton(literals []string) automaton {
	var a automaton
	a.width = 1 // class 0: bytes that are in no literal
	size := 1
	for _, literal := range literals {
		size += len(literal)
		for _, c := range []byte(literal) {
			if c = fold(c); a.class[c] == 0 {
				a.class[c] = uint16(a.width)
				a.width++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		a.class[c] = a.class[fold(c)]
	}
	t := append(make(trie, 0, size), node{})
	for i, literal := range literals {
		at := uint32(0)
		for _, c := range []byte(literal) {
			to := t.step(at, a.class[c])
			if to == 0 {
				to = uint32(len(t))
				t = append(t, node{class: a.class[c], sibling: t[at].child})
				t[at].child = to
			}
			at = to
		}
		t[at].ends = append(t[at].ends, uint16(i))
	}
	a.fill(t, t.link())
	return a
}

// link completes fail and ends, and returns the nodes so that each comes after that of its longest suffix.
func (t trie) link() []uint32 {
	order := make([]uint32, 1, len(t))
	for i := 0; i < len(order); i++ {
		at := order[i]
		for to := t[at].child; to != 0; to = t[to].sibling {
			if at != 0 {
				back := t[at].fail
				for back != 0 && t.step(back, t[to].class) == 0 {
					back = t[back].fail
				}
				t[to].fail = t.step(back, t[to].class)
			}
			t[to].ends = append(t[to].ends, t[t[to].fail].ends...)
			order = append(order, to)
		}
	}
	return order
}

// fill makes the states. They are in an order in which one comparison finds those in which a literal ends. Where no
// literal continues, the next state is that of the longest suffix.
func (a *automaton) fill(t trie, order []uint32) {
	names := make([]uint32, len(t))
	n := uint32(0)
	for _, finds := range []bool{false, true} {
		if finds {
			a.firstFound = n
		}
		for i := range t {
			if len(t[i].ends) > 0 == finds {
				names[i] = n
				n += a.width
				if finds {
					a.found = append(a.found, t[i].ends)
				}
			}
		}
	}
	a.next = make([]uint32, n)
	for _, at := range order {
		row := a.next[names[at]:][:a.width]
		if at != 0 {
			copy(row, a.next[names[t[at].fail]:])
		}
		for to := t[at].child; to != 0; to = t[to].sibling {
			row[t[to].class] = names[to]
		}
	}
}

// ends returns the literals that end in a state from firstFound on.
func (a *automaton) ends(state uint32) []uint16 { return a.found[(state-a.firstFound)/a.width] }
