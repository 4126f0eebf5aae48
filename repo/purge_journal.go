package repo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"tape/internal/gitstore"
)

// purgeJournal is what a purge has decided to do. Once it is written, all the objects that
// it names are there, and the purge will be carried out: each step may be done again.
type purgeJournal struct {
	moves   []purgeMove
	commits map[gitstore.Hash]gitstore.Hash // from the old to the new ones
	prints  []string
	whole   []entryDigest
}

// purgeMove moves a ref; a zero hash is none.
type purgeMove struct {
	ref      string
	old, new gitstore.Hash
	subject  string
}

// encode writes the journal, a line for each step.
func (j *purgeJournal) encode() []byte {
	var b bytes.Buffer
	for _, m := range j.moves {
		fmt.Fprintf(&b, "move %s %s %s %s\n", m.old, m.new, m.ref, m.subject)
	}
	for _, fp := range j.prints {
		fmt.Fprintf(&b, "mask %s\n", fp)
	}
	for _, digest := range j.whole {
		fmt.Fprintf(&b, "whole %x\n", digest)
	}
	for old, next := range j.commits {
		fmt.Fprintf(&b, "commit %s %s\n", old, next)
	}
	return b.Bytes()
}

func decodePurgeJournal(raw []byte) (*purgeJournal, error) {
	j := &purgeJournal{commits: map[gitstore.Hash]gitstore.Hash{}}
	for line := range strings.Lines(string(raw)) {
		what, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch what {
		case "mask":
			j.prints = append(j.prints, rest)
			continue
		case "whole":
			var digest entryDigest
			if n, err := hex.Decode(digest[:], []byte(rest)); err != nil || n != len(digest) {
				return nil, fmt.Errorf("a line is cut off: %.80q", line)
			}
			j.whole = append(j.whole, digest)
			continue
		}
		fields := strings.SplitN(rest, " ", 4)
		if len(fields) < 2 {
			return nil, fmt.Errorf("a line is cut off: %.80q", line)
		}
		old, err1 := gitstore.ParseHash(fields[0])
		next, err2 := gitstore.ParseHash(fields[1])
		switch {
		case err1 != nil || err2 != nil:
			return nil, errors.Join(err1, err2)
		case what == "move" && len(fields) == 4:
			j.moves = append(j.moves, purgeMove{fields[2], old, next, fields[3]})
		case what == "commit":
			j.commits[old] = next
		default:
			return nil, fmt.Errorf("no such step: %.80q", line)
		}
	}
	return j, nil
}

func (p *purge) journalPath() string { return p.s.privatePath("purge") }
