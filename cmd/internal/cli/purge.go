package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/repo"
)

type purgeOptions struct {
	*App
	repo.PurgeOptions
	yes bool
}

func newPurgeCmd(a *App) *cobra.Command {
	o := &purgeOptions{App: a}
	cmd := &cobra.Command{
		Use:   "purge [@ID…] [--rule RULE]… [--fingerprint FINGERPRINT]… [--whole] [--dry-run] [--yes]",
		Short: "Remove a secret from the tape's history",
		Long: `Remove a secret from a tape as if it had never been recorded. This is the only command that
rewrites history. It cannot be undone.

@ID masks the secrets of that entry. With --whole the entry loses all its text, which is the
way for a secret that the scanner does not know; its kind and the link to its call stay.
--rule RULE masks all secrets of one kind, --rule all those of every kind that were not allowed.
--fingerprint masks one secret, by the fingerprint that tape push shows.

A secret is removed wherever its text stands in the tape, its forks and its archives: in entries
before and after, in names of anchors, in messages of commits and tags. A short secret, or one
that is a word, is masked only where the context shows that it is a secret; purge says so.
Names of tapes and forks stay, and so do other tapes: purge names those that have the secret,
with the command for each.

Everything from the first such entry on is rewritten: commits, tags, forks, archives and
reflogs. Entries keep their ids, and a last one, tape.purged, records the purge. Then the old
commits are removed, and the index is rebuilt. If a purge is interrupted, run it again to
finish it.

Remotes, and everybody who has fetched the tape, still have the secret. Purge names the known
remotes, and prints how to replace the tape there. Revoke the secret in any case.

Purge needs the git program. It asks on a terminal, and needs --yes elsewhere. --dry-run shows
the changes without making them.`,
		Example: `  tape purge @17
  tape purge --rule all --dry-run
  tape purge --fingerprint 0123456789abcdef --yes`,
		Args:    takes(0, "@ID…"),
		PreRunE: o.takeIDs,
		RunE:    a.onTape(o.run),
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Rules, "rule", nil, "mask the secrets that this `RULE` finds, or all; can be repeated")
	f.StringArrayVar(&o.Fingerprints, "fingerprint", nil, "mask the secret with this `FINGERPRINT`; can be repeated")
	f.BoolVar(&o.Whole, "whole", false, "remove the whole text of the entries")
	f.BoolVar(&o.DryRun, "dry-run", false, "show the changes without making them")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *purgeOptions) takeIDs(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		id, err := strconv.ParseInt(strings.TrimPrefix(arg, "@"), 10, 64)
		if err != nil || id < 1 || !strings.HasPrefix(arg, "@") {
			return usagef("%q is not an entry: entries are named @1, @2 …", arg)
		}
		o.IDs = append(o.IDs, id)
	}
	return nil
}

func (o *purgeOptions) run(ctx context.Context, t *repo.Tape, _ []string) error {
	steps := o.Progress("")
	defer steps.Clear()
	o.Step, o.Derived = steps.Step, o.rebuildIndex
	if !o.yes && !o.DryRun {
		if err := o.ask(ctx, t, steps); err != nil {
			return err
		}
	}
	done, err := t.Purge(ctx, o.PurgeOptions)
	steps.Clear()
	if err != nil {
		return err
	}
	if o.JSON {
		return o.Emit(o.describe(done))
	}
	o.report(t, done)
	return nil
}

func (o *purgeOptions) ask(ctx context.Context, t *repo.Tape, steps *stdio.Progress) error {
	dry := o.PurgeOptions
	dry.DryRun = true
	plan, err := t.Purge(ctx, dry)
	steps.Clear()
	if err != nil {
		return err
	}
	if !o.CanAsk() {
		return layout.Invalid("tape purge --dry-run shows what it would do, tape purge --yes does it", "purge asks before it rewrites history, and there is no terminal to ask on")
	}
	lines := append(o.summary(plan), o.otherLines(plan)...)
	for _, line := range append(lines, plan.Left...) {
		fmt.Fprintln(o.Stderr, display.Line(line))
	}
	var remotes []string
	for _, r := range plan.Remotes {
		if !slices.Contains(remotes, r.Remote) {
			remotes = append(remotes, r.Remote)
		}
	}
	if len(remotes) > 0 {
		fmt.Fprintf(o.Stderr, "%s: %s\n", display.Count(len(remotes), "remote already has it", "remotes already have it"), display.Line(strings.Join(remotes, ", ")))
	}
	return o.Confirm(ctx, "Rewrite the history? It cannot be undone.")
}

func (o *purgeOptions) describe(p repo.Purged) object {
	return object{{"purged", p.Entries()}, {"dry_run", o.DryRun},
		{"tapes", objects(p.Tapes, func(t purge.PurgedTape) object {
			return object{{"tape", t.Tape}, {"entries", t.Entries}, {"old", orNull(t.Old)}, {"new", orNull(t.New)}}
		})},
		{"commits", p.Commits}, {"tags", p.Tags}, {"archives", p.Archives}, {"signatures", p.Signatures},
		{"rules", p.Rules}, {"fingerprints", p.Fingerprints},
		{"remotes", objects(p.Remotes, func(r purge.PurgedRemote) object {
			return object{{"remote", r.Remote}, {"ref", r.Ref}, {"commit", r.Commit}}
		})},
		{"others", objects(p.Others, func(other purge.PurgedOther) object {
			return object{{"tape", other.Tape}, {"entries", other.Entries}, {"fingerprints", other.Fingerprints}}
		})},
		{"removed", p.Removed}, {"left", p.Left}, {"finished", p.Finished}}
}

func (o *purgeOptions) summary(p repo.Purged) []string {
	verb := "purged"
	if len(p.Tapes) > 0 && p.Tapes[0].New == "" {
		verb = "would purge"
	}
	var out []string
	for _, t := range p.Tapes {
		text := fmt.Sprintf("%s %s of %s", verb, display.Entries(len(t.Entries)), quoted(t.Tape))
		if len(t.Entries) > 0 {
			text += ": " + display.Truncate(named(t.Entries), rows.LineCells)
		}
		out = append(out, text)
		if len(t.Entries) > 0 && len(o.IDs) > 0 && len(o.Rules)+len(o.Fingerprints) == 0 && t.Entries[0] < slices.Min(o.IDs) {
			out = append(out, fmt.Sprintf("it is in entries before @%d as well: everything from @%d on is rewritten", slices.Min(o.IDs), t.Entries[0]))
		}
	}
	out = append(out, some(p.Tags, "tag rewritten", "tags rewritten")...)
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
		out = append(out, fmt.Sprintf("%s has it, too, in %s: %s --tape %s", quoted(other.Tape), display.Truncate(named(other.Entries), rows.LineCells), purge, shellWord(other.Tape)))
	}
	return out
}

func (o *purgeOptions) report(t *repo.Tape, p repo.Purged) {
	if p.Finished {
		o.Printf("finished a purge that was interrupted\n")
	}
	removed := namesOf(p.Removed, func(name string) string { return "removed " + display.Line(name) })
	for _, line := range slices.Concat(o.summary(p), removed, o.otherLines(p)) {
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
	o.tellReplace(t, p)
	if len(p.Tapes) > 0 {
		o.Printf("everybody who fetched it still has it: revoke the secret\n")
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
			o.Printf("to replace it there: %s--force-with-lease=%s:%s %s %s && %s--force %s%s %s\n", git, shellWord(r.Ref), r.Commit,
				shellWord(r.Remote), shellWord(r.Ref), git, prune, shellWord(r.Remote), shellWord(done.Tags+":"+done.Tags))
		}
	}
}
