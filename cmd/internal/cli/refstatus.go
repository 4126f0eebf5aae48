package cli

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

func describeStatus(s repo.RefStatus) object {
	out := object{{"tape", s.Tape}, {"ref", s.Ref}, {"status", s.Status}, {"entries", s.Entries}}
	if s.Err != nil {
		out = out.With("reason", s.Err.Error())
	}
	return out
}

// refWords are the words for a branch's status that differ from those in JSON.
type refWords map[string]string

func (w refWords) of(s repo.RefStatus) string {
	return cmp.Or(w[s.Status], strings.ReplaceAll(s.Status, "_", " "))
}

// showStatuses shows the result for each tape, and returns an error if one was rejected. Tapes that
// are up to date are only counted, unless all are to be listed.
func (a *App) showStatuses(list []repo.RefStatus, w refWords, all bool) error {
	if a.JSON {
		return cmp.Or(listing[repo.RefStatus]{Object: describeStatus}.Show(&a.Streams, list, nil), rejected(list))
	}
	if a.Quiet {
		return rejected(list)
	}
	var same []repo.RefStatus
	table := stdio.NewTable("", ">", "")
	for _, s := range list {
		if s.Status == repo.RefUpToDate && !all {
			same = append(same, s)
			continue
		}
		n := ""
		if s.Status == repo.RefNew || s.Status == repo.RefFastForward || s.Status == repo.RefMerged {
			n = display.Entries(s.Entries)
		}
		table.Add(refName(s), n, w.of(s))
	}
	if len(same) == 1 {
		table.Add(refName(same[0]), "", w.of(same[0]))
	}
	table.Write(&a.Streams)
	switch {
	case len(list) == 0:
		a.PrintUnlessQuiet("everything is up to date")
	case len(same) > 1:
		a.PrintUnlessQuiet("%s up to date", tapesText(same))
	}
	return rejected(list)
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
	return strings.Join(append(display.Some(len(list)-forks, "tape", "tapes"), display.Some(forks, "fork", "forks")...), " and ")
}

// rejected returns an error with the rejected tapes and the reasons; nil if there is none. If there
// is one, its cause shows how the history differs.
func rejected(list []repo.RefStatus) error {
	list = slices.DeleteFunc(slices.Clone(list), func(s repo.RefStatus) bool { return s.Status != repo.RefRejected })
	if len(list) == 0 {
		return nil
	}
	const most = 20
	var lines, ways []string
	for _, s := range list[:min(len(list), most)] {
		lines = append(lines, quoted(refName(s))+" was rejected: "+s.Err.Error())
		if hint := hints.Of(s.Err); hint != "" && !slices.Contains(ways, hint) {
			ways = append(ways, hint)
		}
	}
	if n := len(list) - most; n > 0 {
		lines = append(lines, "and "+display.Count(n, "other", "others"))
	}
	out := &cliError{class: repo.ErrConflict, msg: strings.Join(lines, "\n"), hint: strings.Join(ways, "\n")}
	var rewritten *repo.RewrittenError
	if len(list) == 1 && errors.As(list[0].Err, &rewritten) {
		out.cause = rewritten
	}
	return out
}

// describeDistance describes how many entries a tape and a remote do not share.
func describeDistance(d repo.Distance) object {
	return object{{"remote", d.Remote}, {"ahead", d.Ahead}, {"behind", d.Behind}, {"shared", d.Shared}}
}

func distanceText(d repo.Distance) string {
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
