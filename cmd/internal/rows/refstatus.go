package rows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/cmd/internal/hints"
	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

func describeStatus(s repo.RefStatus) stdio.Object {
	out := stdio.Object{{"tape", s.Tape}, {"ref", s.Ref}, {"status", s.Status}, {"entries", s.Entries}}
	if s.Err != nil {
		out = out.With("reason", s.Err.Error())
	}
	return out
}

// RefWords are the words for a branch's status that differ from those in JSON.
type RefWords map[string]string

func (w RefWords) text(s repo.RefStatus) string {
	return cmp.Or(w[s.Status], strings.ReplaceAll(s.Status, "_", " "))
}

// Statuses shows the result for each tape, and returns an error if one was rejected. Several tapes
// that are up to date are only counted, unless all are to be listed or --json is set.
func Statuses(s *stdio.Streams, list []repo.RefStatus, w RefWords, all bool) error {
	if s.JSON {
		return cmp.Or(stdio.Listing[repo.RefStatus]{Object: describeStatus}.Show(s, list, nil), Rejected(list))
	}
	if s.Quiet {
		return Rejected(list)
	}
	var same []repo.RefStatus
	table := stdio.NewTable("", ">", "")
	for _, r := range list {
		if r.Status == repo.RefUpToDate && !all {
			same = append(same, r)
			continue
		}
		n := ""
		if r.Status == repo.RefNew || r.Status == repo.RefFastForward || r.Status == repo.RefMerged {
			n = display.Entries(r.Entries)
		}
		table.Add(refName(r), n, w.text(r))
	}
	if len(same) == 1 {
		table.Add(refName(same[0]), "", w.text(same[0]))
	}
	table.Write(s)
	switch {
	case len(list) == 0:
		s.PrintUnlessQuiet("everything is up to date")
	case len(same) > 1:
		s.PrintUnlessQuiet("%s up to date", tapesText(same))
	}
	return Rejected(list)
}

func refName(s repo.RefStatus) string {
	if stamp, ok := strings.CutPrefix(s.Ref, layout.ArchivePrefix); ok {
		return s.Tape + " (archive " + stamp[strings.LastIndexByte(stamp, '/')+1:] + ")"
	}
	return s.Tape
}

func tapesText(list []repo.RefStatus) string {
	forks := 0
	for _, s := range list {
		if strings.HasPrefix(s.Ref, layout.ForkPrefix) {
			forks++
		}
	}
	return strings.Join(append(display.CountList(len(list)-forks, "tape", "tapes"), display.CountList(forks, "fork", "forks")...), " and ")
}

// Rejected returns an error with the rejected tapes and the reasons; nil if there is none. If
// exactly one was rejected, the error's cause shows how its history differs.
func Rejected(list []repo.RefStatus) error {
	list = slices.DeleteFunc(slices.Clone(list), func(s repo.RefStatus) bool { return s.Status != repo.RefRejected })
	if len(list) == 0 {
		return nil
	}
	const most = 20
	var lines, ways []string
	for _, s := range list[:min(len(list), most)] {
		lines = append(lines, display.Quoted(refName(s))+" was rejected: "+s.Err.Error())
		if hint := hints.Of(s.Err); hint != "" && !slices.Contains(ways, hint) {
			ways = append(ways, hint)
		}
	}
	if n := len(list) - most; n > 0 {
		lines = append(lines, "and "+display.Count(n, "other", "others"))
	}
	out := layout.Conflict(strings.Join(ways, "\n"), "%s", strings.Join(lines, "\n"))
	var rewritten *repo.RewrittenError
	if len(list) == 1 && errors.As(list[0].Err, &rewritten) {
		out.Cause = rewritten
	}
	return out
}

// Distance describes how many entries a tape and a remote do not share.
func Distance(d repo.Distance) stdio.Object {
	return stdio.Object{{"remote", d.Remote}, {"ahead", d.Ahead}, {"behind", d.Behind}, {"shared", d.Shared}}
}

// DistanceText says for people how many entries a tape and a remote do not share.
func DistanceText(d repo.Distance) string {
	switch {
	case !d.Shared:
		return "not there"
	case d.Ahead > 0 && d.Behind > 0:
		return fmt.Sprintf("%d ahead, %d behind", d.Ahead, d.Behind)
	case d.Ahead > 0:
		return fmt.Sprintf("%d ahead", d.Ahead)
	case d.Behind > 0:
		return fmt.Sprintf("%d behind", d.Behind)
	}
	return "up to date"
}
