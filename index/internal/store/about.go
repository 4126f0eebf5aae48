package store

import (
	"encoding/json"
	"fmt"

	"tape/internal/about"
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

// About tells what each of the tapes is about, by branch. A text that is as it was the last time
// is not read again: to read those of thousands of tapes takes most of the time of a list.
func (d *DB) About(tapes []*Target) (map[string]about.Tape, error) {
	out, now := make(map[string]about.Tape, len(tapes)), make(map[string]decoded, len(tapes))
	for _, t := range tapes {
		out[t.Tape.Branch()] = about.Tape{}
	}
	var branch, name, raw string
	var where string
	var args []any
	if len(tapes) == 1 {
		where, args = " WHERE branch = ?", []any{tapes[0].Tape.Branch()}
	}
	err := d.rows("SELECT branch, name, about FROM tapes"+where, args, []any{&branch, &name, &raw}, func() error {
		if _, asked := out[branch]; !asked {
			return nil
		}
		known, ok := d.decoded[branch]
		if !ok || known.raw != raw {
			one, err := decodeAbout(raw)
			if err != nil {
				return err
			}
			known = decoded{raw, one}
		}
		now[branch] = known
		known.tape.Name = name
		out[branch] = known.tape
		return nil
	})
	if len(now) > 1 { // who asks for one has no use for it
		d.decoded = now
	}
	return out, err
}
