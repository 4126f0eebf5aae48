package repo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/secrets"
)

// purgeJournal is what a purge has decided to do. Once it is written, all the objects that
// it names are there, and the purge will be carried out: each step may be done again.
type purgeJournal struct {
	tape    string // that is purged, with its forks and archives
	moves   []purgeMove
	commits map[gitstore.Hash]gitstore.Hash // from the old to the new ones
	prints  []string
	whole   []entryDigest
	// The texts themselves: what is cleared late is told by them, and until the journal goes
	// the old objects have them as well.
	texts   []secrets.Secret
	removed []string
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
	fmt.Fprintf(&b, "tape %x\n", j.tape)
	for _, m := range j.moves {
		fmt.Fprintf(&b, "move %s %s %s %s\n", m.old, m.new, m.ref, m.subject)
	}
	for _, fp := range j.prints {
		fmt.Fprintf(&b, "mask %s\n", fp)
	}
	for _, digest := range j.whole {
		fmt.Fprintf(&b, "whole %x\n", digest)
	}
	for _, secret := range j.texts {
		fmt.Fprintf(&b, "text %s %s %x\n", secret.Fingerprint, secret.Rule, secret.Text)
	}
	for _, text := range j.removed {
		fmt.Fprintf(&b, "removed %x\n", text)
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
		var err error
		switch what {
		case "move", "commit":
			err = j.decodeMove(what, strings.SplitN(rest, " ", 4))
		default:
			err = j.decodeMask(what, strings.Split(rest, " "))
		}
		if err != nil {
			return nil, fmt.Errorf("a line %.20q: %w", what, err) // and no more of it
		}
	}
	if j.tape == "" {
		return nil, errCutOff
	}
	return j, nil
}

var errCutOff = errors.New("it is cut off, or of another version")

// decodeMove reads the fields of a line that tells where a ref or a commit goes.
func (j *purgeJournal) decodeMove(what string, fields []string) error {
	if len(fields) < 2 {
		return errCutOff
	}
	old, err1 := gitstore.ParseHash(fields[0])
	next, err2 := gitstore.ParseHash(fields[1])
	switch {
	case err1 != nil || err2 != nil:
		return errors.Join(err1, err2)
	case what == "commit":
		j.commits[old] = next
	case len(fields) == 4:
		j.moves = append(j.moves, purgeMove{fields[2], old, next, fields[3]})
	default:
		return errCutOff
	}
	return nil
}

// decodeMask reads the fields of a line that tells what is masked, and of which tape.
func (j *purgeJournal) decodeMask(what string, fields []string) error {
	text, err := hex.DecodeString(fields[len(fields)-1])
	switch {
	case err != nil:
		return errCutOff
	case what == "tape":
		j.tape = string(text)
	case what == "mask" && len(fields) == 1:
		j.prints = append(j.prints, fields[0])
	case what == "whole" && len(text) == sha256.Size:
		j.whole = append(j.whole, entryDigest(text))
	case what == "text" && len(fields) == 3:
		j.texts = append(j.texts, secrets.Secret{Rule: fields[1], Fingerprint: fields[0], Text: string(text)})
	case what == "removed":
		j.removed = append(j.removed, string(text))
	default:
		return errCutOff
	}
	return nil
}

func (s *Store) journalPath() string { return s.privatePath("purge") }
