package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"tape/repo"
)

// How the refs of forks and archives begin, by the format.
const (
	forkBranches = "refs/heads/fork/"
	archiveRefs  = "refs/tape/archive/"
)

// describeStatus is a line of what push, fetch and pull have done.
func describeStatus(s repo.RefStatus) object {
	out := object{{"tape", s.Tape}, {"ref", s.Ref}, {"status", s.Status}, {"entries", s.Entries}}
	if s.Err != nil {
		out = out.with("reason", s.Err.Error())
	}
	return out
}

// refWords are what people read for the status of a branch.
type refWords struct{ fresh, forward, merged, deleted string }

func (w refWords) of(s repo.RefStatus) string {
	switch s.Status {
	case repo.RefNew:
		return w.fresh
	case repo.RefFastForward:
		return w.forward
	case repo.RefMerged:
		return w.merged
	case repo.RefDeleted:
		return w.deleted
	}
	return strings.ReplaceAll(s.Status, "_", " ")
}

// showStatuses writes what became of each tape, and returns an error if one was rejected.
// What is up to date is summed up, unless all is to be listed.
func (a *App) showStatuses(list []repo.RefStatus, w refWords, all bool) error {
	if a.json {
		err := listing[repo.RefStatus]{object: describeStatus}.show(a, list)
		return cmp.Or(err, rejected(list))
	}
	if a.quiet {
		return rejected(list)
	}
	var same []repo.RefStatus
	table := newTable("", ">", "")
	for _, s := range list {
		if s.Status == repo.RefUpToDate && !all {
			same = append(same, s)
			continue
		}
		n := ""
		if s.Status == repo.RefNew || s.Status == repo.RefFastForward || s.Status == repo.RefMerged {
			n = entries(s.Entries)
		}
		table.add(refName(s), n, w.of(s))
	}
	if len(same) == 1 {
		table.add(refName(same[0]), "", w.of(same[0]))
	}
	table.write(a)
	switch {
	case len(list) == 0:
		a.say("everything is up to date")
	case len(same) > 1:
		a.say("%s up to date", tapesText(same))
	}
	return rejected(list)
}

// refName names a tape, fork or archive in a list.
func refName(s repo.RefStatus) string {
	if stamp, ok := strings.CutPrefix(s.Ref, archiveRefs); ok {
		return s.Tape + " (archive " + stamp[strings.LastIndexByte(stamp, '/')+1:] + ")"
	}
	return s.Tape
}

// tapesText counts tapes and forks.
func tapesText(list []repo.RefStatus) string {
	forks := 0
	for _, s := range list {
		if strings.HasPrefix(s.Ref, forkBranches) {
			forks++
		}
	}
	switch tapes := len(list) - forks; {
	case forks == 0:
		return count(tapes, "tape", "tapes")
	case tapes == 0:
		return count(forks, "fork", "forks")
	default:
		return count(tapes, "tape", "tapes") + " and " + count(forks, "fork", "forks")
	}
}

// rejectedError says which tapes were not taken, and why.
type rejectedError struct {
	cliError
	cause error // of a single one, to show how its history differs
}

func (e *rejectedError) Unwrap() []error { return []error{e.class, e.cause} }

// rejected is nil if no tape was rejected.
func rejected(list []repo.RefStatus) error {
	const most = 20
	out := &rejectedError{cliError: cliError{class: repo.ErrConflict}}
	var lines, hints []string
	n := 0
	for _, s := range list {
		if s.Status != repo.RefRejected {
			continue
		}
		if n++; n > most {
			continue
		}
		lines = append(lines, quoted(refName(s))+" was rejected: "+s.Err.Error())
		if hint := repo.Hint(s.Err); hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
		var rewritten *repo.RewrittenError
		if errors.As(s.Err, &rewritten) {
			out.cause = rewritten
		}
	}
	if n == 0 {
		return nil
	}
	if n > most {
		lines = append(lines, "and "+count(n-most, "other", "others"))
	}
	if n > 1 {
		out.cause = nil
	}
	out.msg, out.hint = strings.Join(lines, "\n"), strings.Join(hints, "\n")
	return out
}
