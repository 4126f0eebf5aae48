package cli

import (
	"fmt"
	"slices"

	"tape/repo"
)

// summary tells what is rewritten, a line for each tape.
func (o *purgeOptions) summary(p repo.Purged) []string {
	verb := "purged"
	if len(p.Tapes) > 0 && p.Tapes[0].New == "" {
		verb = "would purge"
	}
	var out []string
	for _, t := range p.Tapes {
		text := fmt.Sprintf("%s %s of %s", verb, entries(len(t.Entries)), quoted(t.Tape))
		if len(t.Entries) > 0 {
			text += ": " + truncate(named(t.Entries), lineCells)
		}
		out = append(out, text)
		if len(t.Entries) > 0 && len(o.IDs) > 0 && len(o.Rules)+len(o.Fingerprints) == 0 && t.Entries[0] < slices.Min(o.IDs) {
			out = append(out, fmt.Sprintf("it is in entries before @%d as well: everything from @%d on is made anew", slices.Min(o.IDs), t.Entries[0]))
		}
	}
	if p.Tags > 0 {
		out = append(out, count(p.Tags, "tag", "tags")+" made anew")
	}
	if p.Commits > 0 {
		made := count(p.Commits, "commit", "commits") + " made anew"
		if p.Archives > 0 {
			made += ", those of " + count(p.Archives, "archive", "archives") + " included"
		}
		if p.Signatures > 0 {
			made += "; " + count(p.Signatures, "signature is", "signatures are") + " lost"
		}
		out = append(out, made)
	}
	return out
}

// otherLines say which other tapes have it, and what purges them.
func (o *purgeOptions) otherLines(p repo.Purged) []string {
	var out []string
	for _, other := range p.Others {
		purge := "tape purge"
		for _, fp := range other.Fingerprints {
			purge += " --fingerprint " + fp
		}
		if len(other.Fingerprints) == 0 {
			purge += " " + named(other.Entries) + " --whole"
		}
		out = append(out, fmt.Sprintf("%s has it, too, in %s: %s --tape %s", quoted(other.Tape), truncate(named(other.Entries), lineCells), purge, shellWord(other.Tape)))
	}
	return out
}

// report says what was done, and what remains to be done by people.
func (o *purgeOptions) report(t *repo.Tape, p repo.Purged) {
	if p.Finished {
		o.printf("finished a purge that had been cut off\n")
	}
	for _, line := range o.summary(p) {
		o.printf("%s\n", line)
	}
	for _, name := range p.Removed {
		o.printf("removed %s\n", safeLine(name))
	}
	for _, line := range o.otherLines(p) {
		o.printf("%s\n", line)
	}
	for _, left := range p.Left {
		fmt.Fprintf(o.Stderr, "tape: warning: %s\n", safeLine(left))
	}
	const shown = 20
	for i, r := range p.Remotes {
		if i == shown {
			o.printf("and %s more\n", count(len(p.Remotes)-shown, "ref", "refs"))
			break
		}
		o.printf("%s still has it: %s at %.7s\n", safeLine(r.Remote), safeLine(r.Ref), r.Commit)
	}
	o.tellReplace(t, p)
	if len(p.Tapes) > 0 {
		o.printf("who has fetched it has it still: change the secret where it came from\n")
	}
}

// tellReplace shows how to replace the history on the remotes, which nothing here forces.
func (o *purgeOptions) tellReplace(t *repo.Tape, p repo.Purged) {
	if o.DryRun {
		return
	}
	dir := shellWord(t.Store().Dir())
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
			// The tags only behind the branch: they may be somebody else's by now.
			git := "git -C " + dir + " push --no-verify "
			o.printf("to replace it there: %s--force-with-lease=%s:%s %s %s && %s--force %s%s %s\n", git, shellWord(r.Ref), r.Commit,
				shellWord(r.Remote), shellWord(r.Ref), git, prune, shellWord(r.Remote), shellWord(done.Tags+":"+done.Tags))
		}
	}
}
