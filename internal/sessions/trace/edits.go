package trace

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"tape/index"
	"tape/internal/git/projectgit"
	"tape/internal/store/activity"
	"tape/repo"
)

// Edits are what sessions wrote into a file, the earliest first.
type Edits struct {
	finder *Finder
	list   []edit
	turns  map[int]Turn
}

type edit struct {
	index.Touch
	lines map[string]bool // see projectgit.Bare
}

// Edits returns the edits of files, in the order of the files.
func (f *Finder) Edits(ctx context.Context, files ...*File) ([]*Edits, error) {
	out := make([]*Edits, len(files))
	byBase := map[string][]int{}
	for i, file := range files {
		out[i] = &Edits{finder: f, turns: map[int]Turn{}}
		for _, base := range file.Bases() {
			byBase[base] = append(byBase[base], i)
		}
	}
	meant := func(recorded string) []int {
		return slices.DeleteFunc(slices.Clone(byBase[baseOf(recorded)]), func(i int) bool { return !files[i].Is(recorded) })
	}
	if len(byBase) == 0 {
		return out, nil
	}
	touches, err := f.Index.Touches(ctx, index.FileFilter{Tapes: f.Tapes, Bases: slices.Collect(maps.Keys(byBase)),
		Match: func(recorded string) bool { return len(meant(recorded)) > 0 }})
	if err != nil {
		return nil, err
	}
	touches = slices.DeleteFunc(touches, func(t index.Touch) bool { return t.Writes == 0 || t.At.IsZero() })
	add := func(one edit) {
		for _, i := range meant(one.Path) {
			out[i].list = append(out[i].list, one)
		}
	}
	for len(touches) > 0 { // those of a tape come together, in the order of its entries
		n := slices.IndexFunc(touches, func(t index.Touch) bool { return t.Tape != touches[0].Tape })
		if n < 0 {
			n = len(touches)
		}
		if err := f.readEdits(ctx, touches[:n], add); err != nil && !errors.Is(err, repo.ErrNotFound) {
			return nil, err
		}
		touches = touches[n:]
	}
	for _, e := range out {
		slices.SortStableFunc(e.list, func(a, b edit) int { return a.At.Compare(b.At) })
	}
	return out, nil
}

func baseOf(recorded string) string { return path.Base(strings.ReplaceAll(recorded, `\`, "/")) }

// resultsWithin is how many entries after an edit may say what came out of it.
const resultsWithin = 64

// readEdits passes on the edits of one tape.
func (f *Finder) readEdits(ctx context.Context, touches []index.Touch, add func(edit)) error {
	t, err := f.Store.Tape(ctx, touches[0].Tape)
	if err != nil {
		return err
	}
	type reading struct {
		index.Touch
		texts []activity.Text
	}
	var read []reading
	for entry, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindToolCall, repo.KindEvent, repo.KindMessage}}) {
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(read) { // the result of an edit, instead of its arguments
			if r.Entry < entry.ID-resultsWithin {
				break
			}
			if result, ok := activity.Result(entry, baseOf(r.Path)); ok {
				for i := range r.texts {
					if r.texts[i].Call == result.Call {
						r.texts[i].Lines = result.Lines
					}
				}
			}
		}
		for len(touches) > 0 && touches[0].Entry <= entry.ID {
			if touches[0].Entry == entry.ID {
				read = append(read, reading{touches[0], activity.Written(entry, baseOf(touches[0].Path))})
			}
			touches = touches[1:]
		}
		if len(touches) == 0 && (len(read) == 0 || read[len(read)-1].Entry < entry.ID-resultsWithin) {
			break
		}
	}
	for _, r := range read {
		one := edit{r.Touch, map[string]bool{}}
		for _, text := range r.texts {
			for _, line := range text.Lines {
				one.lines[projectgit.Bare(line)] = true
			}
		}
		add(one)
	}
	return nil
}

// Telling reports whether a line says enough to tell who wrote it; a bracket does not.
func Telling(line string) bool { return hasLetters(line, 4) }

// hasLetters reports whether a line has at least the given number of letters and digits; in Chinese, a third of it
// suffices.
func hasLetters(line string, least int) bool {
	n := 0
	for _, r := range line {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			if n++; n >= least || r > 0x2e80 && 3*n >= least { // a Chinese character says more than a letter
				return true
			}
		}
	}
	return false
}

// WriterOf returns the index of the edit that wrote a line, or -1: the last edit up to until whose text has the line. An
// edit before since belongs to an earlier commit. It counts only if the line is so long that hardly any other edit
// wrote the same.
func (e *Edits) WriterOf(line string, since, until time.Time) int {
	const many = 16 // letters and digits
	if line = projectgit.Bare(line); !Telling(line) {
		return -1
	}
	for i, one := range slices.Backward(e.list) {
		if !one.At.After(until) && one.lines[line] {
			if one.At.Before(since) && !hasLetters(line, many) {
				return -1
			}
			return i
		}
	}
	return -1
}

// Last returns the index of the last edit between two times, or -1.
func (e *Edits) Last(since, until time.Time) int {
	for i, one := range slices.Backward(e.list) {
		if one.At.Before(since) {
			break
		}
		if !one.At.After(until) {
			return i
		}
	}
	return -1
}

// LastIn returns the index of the last edit between two times that may be in a file with these lines (see
// projectgit.Bare), or -1. had are the lines of the file before. An edit of whose new lines the file has none was made in
// another branch, or undone; so was one that wrote only what was there before.
func (e *Edits) LastIn(has, had map[string]bool, since, until time.Time) int {
	for i := e.Last(since, until); i >= 0 && !e.list[i].At.Before(since); i-- {
		wrote, stands := false, false
		for line := range e.list[i].lines {
			if Telling(line) {
				wrote, stands = true, stands || has[line] && !had[line]
			}
		}
		if stands || !wrote {
			return i
		}
	}
	return -1
}

// Turn returns the turn of the edit with an index.
func (e *Edits) Turn(ctx context.Context, i int, how How) (Turn, error) {
	if t, ok := e.turns[i]; ok {
		t.How = how
		return t, nil
	}
	one := e.list[i]
	t, err := e.finder.turn(ctx, repo.Entry{Tape: one.Tape, ID: one.Entry, Date: repo.FormatDate(one.At)}, how)
	if err == nil {
		e.turns[i] = t
	}
	return t, err
}
