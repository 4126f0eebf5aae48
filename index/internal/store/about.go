package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"tape/internal/store/about"
)

// about is what the index has of what a tape is about, to go on from.
func (d *DB) about(no int64) (out about.Tape, err error) {
	var raw string
	if _, err = d.row("SELECT about FROM tapes WHERE no = ?", []any{no}, &raw); err != nil {
		return out, err
	}
	return decodeAbout(raw)
}

func decodeAbout(raw string) (out about.Tape, err error) {
	if err = json.Unmarshal([]byte(raw), &out); err != nil {
		err = fmt.Errorf("%w: what a tape is about: %w", ErrStrange, err)
	}
	return out, err
}

// decoded is what a row says a tape is about, as text and read.
type decoded struct {
	raw  string
	tape about.Tape
}

// allFacts has the rows as one text, as all has: JSON has no control characters.
const allFacts = "SELECT ifnull(group_concat(concat_ws(char(31), branch, name, about), char(30)), '') FROM tapes"

// About tells what each of the tapes is about, by branch. A text that is as it was the last time
// is not read again: to read those of thousands of tapes takes most of the time of a list.
func (d *DB) About(tapes []*Target) (map[string]about.Tape, error) {
	out, now := make(map[string]about.Tape, len(tapes)), make(map[string]decoded, len(tapes))
	for _, t := range tapes {
		out[t.Tape.Branch()] = about.Tape{}
	}
	query, args := allFacts, []any(nil)
	if len(tapes) == 1 {
		query, args = allFacts+" WHERE branch = ?", []any{tapes[0].Tape.Branch()}
	}
	var text string
	if _, err := d.row(query, args, &text); err != nil {
		return nil, err
	}
	for row := range strings.SplitSeq(text, "\x1e") {
		branch, rest, _ := strings.Cut(row, "\x1f")
		name, raw, _ := strings.Cut(rest, "\x1f")
		if _, asked := out[branch]; !asked {
			continue
		}
		known, ok := d.decoded[branch]
		if !ok || known.raw != raw {
			one, err := decodeAbout(raw)
			if err != nil {
				return nil, err
			}
			known = decoded{strings.Clone(raw), one} // else one row would keep the text of all
		}
		now[branch] = known
		known.tape.Name = name
		out[branch] = known.tape
	}
	if len(now) > 1 { // who asks for one has no use for it
		d.decoded = now
	}
	return out, nil
}
