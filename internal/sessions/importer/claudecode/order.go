package claudecode

import "slices"

// order returns the indices of the records in the order of the tape: as in the file, but no record comes
// before its parent.
func (c *scan) order() []int32 {
	c.settleQueue()
	c.resolve()
	out := make([]int32, 0, len(c.recs))
	waiting := map[int32][]int32{} // by the parent that is still to come
	var stack []int32
	for i := range c.recs {
		r := &c.recs[i]
		if p := c.parentOf(i); p >= 0 && !c.recs[p].is(flagOrdered) {
			waiting[p] = append(waiting[p], int32(i))
			continue
		}
		if r.is(flagOrdered) {
			continue
		}
		stack = append(stack[:0], int32(i))
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			c.recs[n].flags |= flagOrdered
			out = append(out, n)
			if late := waiting[n]; late != nil {
				delete(waiting, n)
				slices.Reverse(late)
				stack = append(stack, late...)
			}
		}
	}
	if len(waiting) > 0 {
		// The parents form a cycle: keep the order of the file.
		for i := range c.recs {
			if !c.recs[i].is(flagOrdered) {
				out = append(out, int32(i))
			}
		}
	}
	c.markChain()
	c.markAbandoned(out)
	c.group(out)
	return out
}

// resolve replaces the hashes of parents by indices plus 1; 0 stands for none.
func (c *scan) resolve() {
	for i := range c.recs {
		r := &c.recs[i]
		if r.is(flagNoID) || r.parent == 0 {
			continue
		}
		p, ok := c.byID[r.parent]
		r.parent = 0
		if !ok {
			c.lost[int32(i)] = true
		}
		if ok && int(p) != i {
			r.parent = uint64(p) + 1
		}
	}
	c.byID = nil
	for i := range c.recs {
		// A line before its side chain's first line got a tape of its own.
		r := &c.recs[i]
		if p := c.parentOf(i); p > int32(i) && r.is(flagSide) && c.recs[p].is(flagSide) && c.rooted[r.tape] {
			r.tape = c.recs[p].tape
		}
	}
}

func (c *scan) parentOf(i int) int32 {
	r := &c.recs[i]
	if r.is(flagNoID) {
		return -1
	}
	return int32(r.parent) - 1
}

// markChain marks the records from the last one of the conversation back to the first: what the program
// itself would continue.
func (c *scan) markChain() {
	i := len(c.recs) - 1
	for ; i >= 0; i-- {
		r := &c.recs[i]
		if r.kind == kindRewound {
			i = int(c.leaves[int32(i)])
			break
		}
		if r.tape == 0 && (r.kind == kindUser || r.kind == kindAssistant || r.kind == kindDigest) && !r.is(flagDuplicate) {
			break
		}
	}
	before := func(i int) int { // the line of the conversation before one
		for i--; i >= 0; i-- {
			if r := &c.recs[i]; r.tape == 0 && !r.is(flagNoID|flagDuplicate|flagOnChain) {
				break
			}
		}
		return i
	}
	for i >= 0 {
		r := &c.recs[i]
		if r.is(flagOnChain) {
			// What a compaction kept was written after it, as its own ancestor.
			i = before(i)
			continue
		}
		r.flags |= flagOnChain
		if p := c.parentOf(i); p >= 0 {
			i = int(p)
			continue
		}
		if r.is(flagRoot) && r.is(flagPrompt) {
			return // the conversation was restarted here
		}
		// The parent was damaged, is in another file, or the program was restarted here: go on with the
		// line before.
		i = before(i)
	}
}

// markAbandoned marks prompts that the user took back, and all that follows from them. A prompt without a uuid is on no
// branch.
func (c *scan) markAbandoned(order []int32) {
	for _, i := range order {
		r := &c.recs[i]
		if r.is(flagOnChain) {
			continue
		}
		if p := c.parentOf(int(i)); p >= 0 && c.recs[p].is(flagAbandoned) {
			r.flags |= flagAbandoned
		} else if r.is(flagPrompt) && r.tape == 0 && !r.is(flagDuplicate|flagNoID) {
			r.flags |= flagAbandoned
		}
	}
}

// heads are the groups of a tape that records may still join.
type heads struct {
	tail     map[uint64]int32 // by message: the last record so far
	boundary int32            // a compaction without its summary, or -1
}

// group links the lines of a message of the model, and the summary of a compaction to its boundary. A
// prompt ends all groups.
func (c *scan) group(order []int32) {
	tapes := make([]heads, len(c.tapes))
	for t := range tapes {
		tapes[t] = heads{tail: map[uint64]int32{}, boundary: -1}
	}
	for _, i := range order {
		r := &c.recs[i]
		h := &tapes[r.tape]
		msg := r.msg
		r.msg = 0
		if r.is(flagDuplicate) {
			continue
		}
		join := func(tail int32) {
			c.recs[tail].msg = uint64(i) + 1
			r.flags |= flagMember
		}
		switch r.kind {
		case kindAssistant:
			h.boundary = -1
			if msg == 0 {
				continue
			}
			if tail, ok := h.tail[msg]; ok {
				join(tail)
			}
			h.tail[msg] = i
		case kindBoundary:
			h.boundary = i
			clear(h.tail)
		case kindDigest:
			if h.boundary >= 0 {
				join(h.boundary)
				h.boundary = -1
			}
			clear(h.tail)
		case kindClear:
			clear(h.tail)
		case kindUser:
			if r.is(flagPrompt) {
				h.boundary = -1
				clear(h.tail)
			}
		}
	}
}

// next returns the record that follows i in its group, or -1.
func (c *scan) next(i int32) int32 { return int32(c.recs[i].msg) - 1 }
