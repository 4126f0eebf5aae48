package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/outgoing"
	"tape/internal/text/entrydiff"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// describeFinding is something in what was to be pushed that looks like a secret. The entry
// is null where it is in a message of git's.
func describeFinding(f outgoing.SecretFinding) object {
	return object{{"tape", f.Tape}, {"entry", orNull(f.Entry)}, {"commit", orNull(f.Commit)}, {"rule", f.Rule}, {"path", f.Path},
		{"excerpt", f.Masked}, {"fingerprint", f.Fingerprint}}
}

func (a *App) tellFindings(list []outgoing.SecretFinding) {
	const most = 50
	for _, f := range list[:min(len(list), most)] {
		where := fmt.Sprintf("@%d", f.Entry)
		if f.Entry == 0 {
			where = "commit " + shortID(f.Commit)
		}
		fmt.Fprintf(a.Stderr, "  %s %s  %s  %s  %s\n", display.Truncate(display.Line(f.Tape), stdio.MaxCell), where, f.Rule, display.Truncate(display.Line(f.Masked), lineCells), f.Fingerprint)
	}
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(a.Stderr, "  and %s; --json lists them\n", display.Count(n, "other", "others"))
	}
}

// describeRewritten is the first entry of a rewritten history that differs.
func describeRewritten(e *repo.RewrittenError) object {
	parts := []object{}
	if e.Base[0] != nil && e.Base[1] != nil {
		parts = objects(entrydiff.Entry(e.Base[0], e.Base[1]), describePart)
	}
	return object{{"tape", e.Name}, {"id", rewrittenID(e)}, {"was", rawEntry(e.Base[0])}, {"is", rawEntry(e.Base[1])}, {"parts", parts}}
}

// rewrittenID is the id of that entry, 0 where neither side can be read.
func rewrittenID(e *repo.RewrittenError) int64 {
	for _, line := range e.Base {
		if id, err := jsonl.ParseID(line); err == nil && id != 0 {
			return id
		}
	}
	return 0
}

// rawEntry is a stored line in JSON output: as it is, or a string if it is no entry.
func rawEntry(line []byte) any {
	if line == nil {
		return nil
	}
	if _, err := jsonl.Parse(line); err != nil {
		return string(line)
	}
	return json.RawMessage(line)
}

func (a *App) tellRewritten(e *repo.RewrittenError) {
	tell := func(format string, args ...any) { fmt.Fprintf(a.Stderr, "  "+format+"\n", args...) }
	id, was, is := rewrittenID(e), e.Base[0], e.Base[1]
	switch {
	case was == nil && is == nil:
	case is == nil:
		tell("@%d is gone; it was:", id)
		tell("- %s", display.Truncate(display.Line(string(was)), lineCells))
	case was == nil:
		tell("@%d was not there; it is:", id)
		tell("+ %s", display.Truncate(display.Line(string(is)), lineCells))
	default:
		tell("@%d was changed:", id)
		for _, p := range entrydiff.Entry(was, is) {
			tell("  %s", display.Truncate(display.Line(partName(p)), lineCells))
			for _, l := range display.PartLines(p) {
				tell("  %s", strings.TrimRight(string(l.Sign)+" "+l.Shorten(lineCells).Text, " "))
			}
		}
	}
}

func partName(p entrydiff.Part) string { return cmp.Or(p.Path, "the line") }
