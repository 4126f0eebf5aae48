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

// trie is the automaton while it is built. States are in order of creation. 0 in next means
// that there is no next state yet.
type trie struct {
	width int
	next  []uint32 // by state and class
	fail  []uint32
	ends  [][]uint16
}

func (t *trie) row(state uint32) []uint32 { return t.next[int(state)*t.width:][:t.width] }

func (t *trie) add() uint32 {
	t.next = append(t.next, make([]uint32, t.width)...)
	t.fail, t.ends = append(t.fail, 0), append(t.ends, nil)
	return uint32(len(t.fail) - 1)
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
	t := &trie{width: int(a.width), next: make([]uint32, 0, size*int(a.width))}
	t.add()
	for i, literal := range literals {
		at := uint32(0)
		for _, c := range []byte(literal) {
			k := a.class[c]
			to := t.row(at)[k]
			if to == 0 {
				to = t.add()
				t.row(at)[k] = to
			}
			at = to
		}
		t.ends[at] = append(t.ends[at], uint16(i))
	}
	t.link()
	a.number(t)
	return a
}

// link completes the transitions: where no literal continues, the next state is that of the
// longest suffix with which a literal begins.
func (t *trie) link() {
	queue := []uint32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		row, back := t.row(at), t.row(t.fail[at])
		for k, to := range row {
			switch {
			case to == 0 && at != 0:
				row[k] = back[k]
			case to != 0:
				if at != 0 {
					t.fail[to] = back[k]
				}
				t.ends[to] = append(t.ends[to], t.ends[t.fail[to]]...)
				queue = append(queue, to)
			}
		}
	}
}

// number orders the states so that one comparison finds those in which a literal ends.
func (a *automaton) number(t *trie) {
	names := make([]uint32, len(t.ends))
	n := uint32(0)
	for _, finds := range []bool{false, true} {
		if finds {
			a.firstFound = n
		}
		for i, ends := range t.ends {
			if len(ends) > 0 == finds {
				names[i] = n
				n += a.width
			}
		}
	}
	a.next = make([]uint32, n)
	a.found = make([][]uint16, (n-a.firstFound)/a.width)
	for i, ends := range t.ends {
		row := a.next[names[i]:][:a.width]
		for k, to := range t.row(uint32(i)) {
			row[k] = names[to]
		}
		if len(ends) > 0 {
			a.found[(names[i]-a.firstFound)/a.width] = ends
		}
	}
}

// ends returns the literals that end in a state from firstFound on.
func (a *automaton) ends(state uint32) []uint16 { return a.found[(state-a.firstFound)/a.width] }
