package rows

import (
	"fmt"
	"slices"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/purge"
	"tape/repo"
)

// Purge shows the result of a purge.
type Purge struct {
	*stdio.Streams
	Asked       repo.PurgeOptions
	Transcripts []string // those that contain the text: files of agents, and copies that tape's recorder keeps
}

// Object is the result as JSON.
func (o *Purge) Object(p repo.Purged) stdio.Object {
	return stdio.Object{{"purged", p.Entries()}, {"dry_run", o.Asked.DryRun},
		{"tapes", stdio.Objects(p.Tapes, func(t purge.PurgedTape) stdio.Object {
			return stdio.Object{{"tape", t.Tape}, {"entries", t.Entries}, {"old", stdio.OrNull(t.Old)}, {"new", stdio.OrNull(t.New)}}
		})},
		{"commits", p.Commits}, {"tags", p.Tags}, {"archives", p.Archives}, {"signatures", p.Signatures},
		{"rules", p.Rules}, {"fingerprints", p.Fingerprints},
		{"remotes", stdio.Objects(p.Remotes, func(r purge.PurgedRemote) stdio.Object {
			return stdio.Object{{"remote", r.Remote}, {"ref", r.Ref}, {"commit", r.Commit}}
		})},
		{"others", stdio.Objects(p.Others, func(other purge.PurgedOther) stdio.Object {
			return stdio.Object{{"tape", other.Tape}, {"entries", append([]int64{}, other.Entries...)}, {"commits", other.Commits}, {"fingerprints", other.Fingerprints}}
		})},
		{"removed", p.Removed}, {"left", p.Left}, {"transcripts", append([]string{}, o.Transcripts...)}, {"finished", p.Finished}}
}

// Summary says what was done or, in a dry run, would be done.
func (o *Purge) Summary(p repo.Purged) []string {
	verb := "purged"
	if len(p.Tapes) > 0 && p.Tapes[0].New == "" {
		verb = "would purge"
	}
	var out []string
	for _, t := range p.Tapes {
		text := fmt.Sprintf("%s %s of %s", verb, display.Entries(len(t.Entries)), display.Quoted(t.Tape))
		if len(t.Entries) > 0 {
			text += ": " + display.Truncate(display.IDs(t.Entries), LineCells)
		}
		out = append(out, text)
		if len(t.Entries) > 0 && len(o.Asked.IDs) > 0 && len(o.Asked.Rules)+len(o.Asked.Fingerprints) == 0 && t.Entries[0] < slices.Min(o.Asked.IDs) {
			out = append(out, fmt.Sprintf("it is in entries before @%d as well: everything from @%d on is rewritten", slices.Min(o.Asked.IDs), t.Entries[0]))
		}
	}
	out = append(out, display.CountList(p.Tags, "tag rewritten", "tags rewritten")...)
	if p.Commits > 0 {
		made := display.Count(p.Commits, "commit", "commits") + " rewritten"
		if p.Archives > 0 {
			made += ", those of " + display.Count(p.Archives, "archive", "archives") + " included"
		}
		if p.Signatures > 0 {
			made += "; " + display.Count(p.Signatures, "signature is", "signatures are") + " lost"
		}
		out = append(out, made)
	}
	return out
}

// Others names the other tapes that contain the text, and the commands that purge them.
func (o *Purge) Others(p repo.Purged) []string {
	var out []string
	for _, other := range p.Others {
		purge := "tape purge"
		for _, fp := range other.Fingerprints {
			purge += " --fingerprint " + fp
		}
		var where []string
		if len(other.Entries) > 0 {
			where = append(where, display.Truncate(display.IDs(other.Entries), LineCells))
		}
		if other.Commits > 0 {
			where = append(where, "the message or author of "+display.Count(other.Commits, "commit", "commits"))
		}
		switch {
		case len(other.Fingerprints) > 0:
		case len(other.Entries) > 0:
			purge += " " + display.IDs(other.Entries) + " --whole"
		default:
			for _, fp := range p.Fingerprints {
				purge += " --fingerprint " + fp
			}
		}
		out = append(out, fmt.Sprintf("%s has it, too, in %s: %s --tape %s", display.Quoted(other.Tape), strings.Join(where, " and "), purge, display.ShellWord(other.Tape)))
	}
	return out
}

// Report says what was done, and what is left to do.
func (o *Purge) Report(t *repo.Tape, p repo.Purged) {
	if p.Finished {
		o.Printf("finished a purge that was interrupted\n")
	}
	var removed []string
	for _, name := range p.Removed {
		removed = append(removed, "removed "+display.Line(name))
	}
	for _, line := range slices.Concat(o.Summary(p), removed, o.Others(p)) {
		o.Line(line)
	}
	for _, left := range p.Left {
		fmt.Fprintf(o.Stderr, "tape: warning: %s\n", display.Line(left))
	}
	const shown = 20
	for i, r := range p.Remotes {
		if i == shown {
			o.Printf("and %s more\n", display.Count(len(p.Remotes)-shown, "ref", "refs"))
			break
		}
		o.Printf("%s still has it: %s at %.7s\n", display.Line(r.Remote), display.Line(r.Ref), r.Commit)
	}
	for _, path := range o.Transcripts {
		o.Printf("the transcript %s still has it: edit or delete it\n", display.Line(path))
	}
	o.tellReplace(t, p)
	if len(p.Tapes) > 0 {
		o.Printf("everybody who fetched it still has it: revoke the secret\n")
	}
}

// tellReplace shows the commands that replace the history on the remotes. We never push by force.
func (o *Purge) tellReplace(t *repo.Tape, p repo.Purged) {
	if o.Asked.DryRun {
		return
	}
	dir := display.ShellWord(t.Store().Dir())
	told := map[string]bool{}
	for _, done := range p.Tapes {
		for _, r := range p.Remotes {
			if r.Ref != done.Branch || told[r.Remote+" "+r.Ref] {
				continue
			}
			told[r.Remote+" "+r.Ref] = true
			prune := ""
			if done.Renamed {
				prune = "--prune "
			}
			// The tags are pushed only if the branch was: otherwise they may be those of a newer push of somebody else.
			git := "git -C " + dir + " push --no-verify "
			o.Printf("to replace it there: %s--force-with-lease=%s:%s %s %s && %s--force %s%s %s\n", git, display.ShellWord(r.Ref), r.Commit,
				display.ShellWord(r.Remote), display.ShellWord(r.Ref), git, prune, display.ShellWord(r.Remote), display.ShellWord(done.Tags+":"+done.Tags))
		}
	}
}
