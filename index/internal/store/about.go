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

// About tells what each of the tapes is about, by branch.
func (d *DB) About(tapes []*Target) (map[string]about.Tape, error) {
	out := make(map[string]about.Tape, len(tapes))
	for _, t := range tapes {
		out[t.Tape.Branch()] = about.Tape{}
	}
	var branch, name, raw string
	err := d.rows("SELECT branch, name, about FROM tapes", nil, []any{&branch, &name, &raw}, func() error {
		if _, asked := out[branch]; !asked {
			return nil
		}
		known, err := decodeAbout(raw)
		known.Name = name
		out[branch] = known
		return err
	})
	return out, err
}
