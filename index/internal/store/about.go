package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"tape/internal/store/about"
	"tape/internal/store/activity"
)

// saved reads from the index what a tape is about and what was done in it, so that indexing can go on from there.
func (d *DB) saved(no int64) (facts about.Tape, done activity.Session, err error) {
	var rawFacts, rawDone string
	if _, err = d.row("SELECT about, activity FROM tapes WHERE no = ?", []any{no}, &rawFacts, &rawDone); err != nil {
		return facts, done, err
	}
	if facts, err = decodeAbout(rawFacts); err != nil {
		return facts, done, err
	}
	if err = json.Unmarshal([]byte(rawDone), &done); err != nil {
		err = fmt.Errorf("%w: the activity of a tape: %w", ErrInconsistent, err)
	}
	return facts, done, err
}

func encodeActivity(s activity.Session) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // it is made of texts and numbers
	}
	return string(raw)
}

func decodeAbout(raw string) (out about.Tape, err error) {
	if err = json.Unmarshal([]byte(raw), &out); err != nil {
		err = fmt.Errorf("%w: what a tape is about: %w", ErrInconsistent, err)
	}
	return out, err
}

// parsedAbout is what a tape is about, with the JSON that it was parsed from.
type parsedAbout struct {
	raw  string
	tape about.Tape
}

// allFacts selects all rows as one text, like allRows. Its separators are control characters, which JSON
// does not contain.
const allFacts = "SELECT ifnull(group_concat(concat_ws(char(31), branch, name, about), char(30)), '') FROM tapes"

// About returns what each of the tapes is about, by branch: the zero value for a tape that the index does not
// have. The second call for several tapes begins to keep what it parsed, and later calls parse only JSON that
// has changed: for thousands of tapes, parsing takes most of the time.
func (d *DB) About(tapes []*Target) (map[string]about.Tape, error) {
	out, parsed := make(map[string]about.Tape, len(tapes)), map[string]parsedAbout{}
	keep := d.listed && len(tapes) > 1
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
		last, ok := d.parsed[branch]
		if !ok || last.raw != raw {
			one, err := decodeAbout(raw)
			if err != nil {
				return nil, err
			}
			if last.tape = one; keep {
				last.raw = strings.Clone(raw) // otherwise one row would keep the whole text in memory
			}
		}
		if keep {
			parsed[branch] = last
		}
		last.tape.Name = name
		out[branch] = last.tape
	}
	if d.listed = d.listed || len(tapes) > 1; keep {
		d.parsed = parsed
	}
	return out, nil
}
