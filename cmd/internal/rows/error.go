package rows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/outgoing"
	"tape/internal/text/entrydiff"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// DescribeFinding describes a possible secret that a push stopped at. The entry is null if the
// secret is in a commit message.
func DescribeFinding(f outgoing.SecretFinding) stdio.Object {
	return stdio.Object{{"tape", f.Tape}, {"entry", stdio.OrNull(f.Entry)}, {"commit", stdio.OrNull(f.Commit)}, {"rule", f.Rule}, {"path", f.Path},
		{"excerpt", f.Masked}, {"fingerprint", f.Fingerprint}}
}

// PrintFindings lists possible secrets.
func PrintFindings(w io.Writer, list []outgoing.SecretFinding) {
	const most = 50
	for _, f := range list[:min(len(list), most)] {
		where := fmt.Sprintf("@%d", f.Entry)
		if f.Entry == 0 {
			where = "commit " + display.ShortID(f.Commit)
		}
		fmt.Fprintf(w, "  %s %s  %s  %s  %s\n", display.Truncate(display.Line(f.Tape), stdio.MaxCell), where, f.Rule, display.Truncate(display.Line(f.Masked), LineCells), f.Fingerprint)
	}
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(w, "  and %s; --json lists them\n", display.Count(n, "other", "others"))
	}
}

// DescribeRewritten describes the first entry in which a rewritten history differs.
func DescribeRewritten(e *repo.RewrittenError) stdio.Object {
	parts := []stdio.Object{}
	if e.Base[0] != nil && e.Base[1] != nil {
		parts = stdio.Objects(entrydiff.Entry(e.Base[0], e.Base[1]), describeDifference)
	}
	return stdio.Object{{"tape", e.Name}, {"id", rewrittenID(e)}, {"was", rawEntry(e.Base[0])}, {"is", rawEntry(e.Base[1])}, {"parts", parts}}
}

// rewrittenID is the id of the first entry that differs; 0 if neither side can be parsed.
func rewrittenID(e *repo.RewrittenError) int64 {
	for _, line := range e.Base {
		if id, err := jsonl.ParseID(line); err == nil && id != 0 {
			return id
		}
	}
	return 0
}

// rawEntry is a stored line in JSON output: as it is, or as a string if it is not an entry.
func rawEntry(line []byte) any {
	if line == nil {
		return nil
	}
	if _, err := jsonl.Parse(line); err != nil {
		return string(line)
	}
	return json.RawMessage(line)
}

// PrintRewritten shows the first entry in which a rewritten history differs.
func PrintRewritten(w io.Writer, e *repo.RewrittenError) {
	tell := func(format string, args ...any) { fmt.Fprintf(w, "  "+format+"\n", args...) }
	id, was, is := rewrittenID(e), e.Base[0], e.Base[1]
	switch {
	case was == nil && is == nil:
	case is == nil:
		tell("@%d is gone; it was:", id)
		tell("- %s", display.Truncate(display.Line(string(was)), LineCells))
	case was == nil:
		tell("@%d was added:", id)
		tell("+ %s", display.Truncate(display.Line(string(is)), LineCells))
	default:
		tell("@%d was changed:", id)
		for _, p := range entrydiff.Entry(was, is) {
			tell("  %s", display.Truncate(display.Line(differenceName(p)), LineCells))
			for _, l := range display.DiffLines(p) {
				tell("  %s", strings.TrimRight(string(l.Sign)+" "+l.Shorten(LineCells).Text, " "))
			}
		}
	}
}

// differenceName is the path of the value, or "the line".
func differenceName(p entrydiff.Difference) string { return cmp.Or(p.Path, "the line") }
