package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/index"
	"tape/repo"
)

type purgeOptions struct {
	app *App
	repo.PurgeOptions
	yes bool
}

func newPurgeCmd(a *App) *cobra.Command {
	o := &purgeOptions{app: a}
	cmd := &cobra.Command{
		Use:   "purge [@ID…] [--rule RULE]… [--fingerprint FINGERPRINT]… [--whole] [--dry-run] [--yes]",
		Short: "Take a secret out of the tape's history",
		Long: `Take a secret out of a tape as if it had never been recorded. This is the one command that
rewrites history, for a secret that got into it; there is no way back.

@ID masks the secrets of that entry. With --whole the entry loses all its text, which is the
way for a secret that the scanner does not know; what the entry is, and to which call it
belongs, stays. --rule masks all secrets of a kind, --rule all those of every kind that were
not allowed, and --fingerprint one secret, which is what tape push shows.

A secret goes wherever its text stands in the tape, its forks and its archives: in entries
before and after, in names of anchors, messages of commits and tags. What is short, or a
word, is masked only where something tells that it is a secret; that is said. Names of tapes
and forks stay, and so do other tapes: those that have it are told, with what purges them.

Everything from the first such entry on is made anew: commits, tags, forks, archives and
reflogs. Entries keep their ids, and a last one, tape.purged, records what was done. Then
the old commits are removed, and the index is made anew. Purging again finishes what was
cut off.

Who has fetched the tape has the secret still, and so has a remote: what is known of those
is told, and how to replace it there. Change the secret where it came from in any case.

It asks on a terminal, and needs --yes elsewhere. --dry-run tells what would be done.`,
		Example: `  tape purge @17
  tape purge --rule all --dry-run
  tape purge --fingerprint 0123456789abcdef --yes`,
		Args: takes(0, "@ID…"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Rules, "rule", nil, "mask the secrets that this `RULE` finds, or all; can be repeated")
	f.StringArrayVar(&o.Fingerprints, "fingerprint", nil, "mask the secret with this `FINGERPRINT`; can be repeated")
	f.BoolVar(&o.Whole, "whole", false, "take out the whole text of the entries")
	f.BoolVar(&o.DryRun, "dry-run", false, "only tell what would be done")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

type purgeJSON struct {
	Purged       int               `json:"purged"`
	DryRun       bool              `json:"dry_run"`
	Tapes        []purgeTapeJSON   `json:"tapes"`
	Commits      int               `json:"commits"`
	Tags         int               `json:"tags"`
	Archives     int               `json:"archives"`
	Signatures   int               `json:"signatures"`
	Rules        []string          `json:"rules"`
	Fingerprints []string          `json:"fingerprints"`
	Remotes      []purgeRemoteJSON `json:"remotes"`
	Others       []purgeOtherJSON  `json:"others"`
	Removed      []string          `json:"removed"`
	Left         []string          `json:"left"`
	Finished     bool              `json:"finished"`
}

type purgeTapeJSON struct {
	Tape    string  `json:"tape"`
	Entries []int64 `json:"entries"`
	Old     any     `json:"old"`
	New     any     `json:"new"`
}

// purgeOtherJSON is a tape that has the same and was not purged. Without fingerprints only
// taking out the whole entries helps there.
type purgeOtherJSON struct {
	Tape         string   `json:"tape"`
	Entries      []int64  `json:"entries"`
	Fingerprints []string `json:"fingerprints"`
}

type purgeRemoteJSON struct {
	Remote string `json:"remote"`
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

func (o *purgeOptions) run(ctx context.Context, args []string) error {
	a := o.app
	for _, arg := range args {
		id, err := strconv.ParseInt(strings.TrimPrefix(arg, "@"), 10, 64)
		if err != nil || id < 1 || !strings.HasPrefix(arg, "@") {
			return usagef("%q is not an entry: entries are named @1, @2 …", arg)
		}
		o.IDs = append(o.IDs, id)
	}
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	steps := a.steps()
	defer steps.clear()
	o.Step, o.Derived = steps.begin, a.rebuildIndex
	if !o.yes && !o.DryRun {
		if err := o.confirm(ctx, t, steps); err != nil {
			return err
		}
	}
	done, err := t.Purge(ctx, o.PurgeOptions)
	steps.clear()
	if err != nil {
		return err
	}
	if a.json {
		return a.emit(o.describe(done))
	}
	o.tell(t, done)
	return nil
}

// rebuildIndex makes the index anew, if there is one: its file is another one then.
func (a *App) rebuildIndex(ctx context.Context) error {
	if _, err := os.Stat(a.store.IndexFile()); err != nil {
		return nil //nolint:nilerr // there is none
	}
	x := index.New(a.store, nil)
	_, err := x.Rebuild(ctx)
	if closeErr := x.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (o *purgeOptions) confirm(ctx context.Context, t *repo.Tape, steps steps) error {
	a := o.app
	if !isTerminal(a.Stdin) || !isTerminal(a.Stderr) {
		return invalidf("tape purge --dry-run tells what it would do, tape purge --yes does it", "purge asks before it rewrites history, and there is no terminal to ask on")
	}
	dry := o.PurgeOptions
	dry.DryRun = true
	plan, err := t.Purge(ctx, dry)
	steps.clear()
	if err != nil {
		return err
	}
	for _, line := range o.summary(plan) {
		fmt.Fprintln(a.Stderr, line)
	}
	for _, line := range append(o.otherLines(plan), plan.Left...) {
		fmt.Fprintln(a.Stderr, safeLine(line))
	}
	var remotes []string
	for _, r := range plan.Remotes {
		if !slices.Contains(remotes, r.Remote) {
			remotes = append(remotes, r.Remote)
		}
	}
	if len(remotes) > 0 {
		fmt.Fprintf(a.Stderr, "%s already: %s\n", count(int64(len(remotes)), "remote has it", "remotes have it"), safeLine(strings.Join(remotes, ", ")))
	}
	return a.confirm(ctx, "Rewrite the history? It cannot be undone.")
}

func (o *purgeOptions) describe(p repo.Purged) purgeJSON {
	out := purgeJSON{Purged: p.Entries(), DryRun: o.DryRun, Tapes: []purgeTapeJSON{}, Commits: p.Commits, Tags: p.Tags, Archives: p.Archives, Signatures: p.Signatures,
		Rules: orEmpty(p.Rules), Fingerprints: orEmpty(p.Fingerprints), Remotes: []purgeRemoteJSON{}, Others: []purgeOtherJSON{}, Removed: orEmpty(p.Removed), Left: orEmpty(p.Left),
		Finished: p.Finished}
	for _, t := range p.Tapes {
		out.Tapes = append(out.Tapes, purgeTapeJSON{t.Tape, orEmpty(t.Entries), orNull(t.Old), orNull(t.New)})
	}
	for _, r := range p.Remotes {
		out.Remotes = append(out.Remotes, purgeRemoteJSON(r))
	}
	for _, other := range p.Others {
		out.Others = append(out.Others, purgeOtherJSON{other.Tape, orEmpty(other.Entries), orEmpty(other.Fingerprints)})
	}
	return out
}

func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

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
		out = append(out, count(int64(p.Tags), "tag", "tags")+" made anew")
	}
	if p.Commits > 0 {
		made := count(int64(p.Commits), "commit", "commits") + " made anew"
		if p.Archives > 0 {
			made += ", those of " + count(int64(p.Archives), "archive", "archives") + " included"
		}
		if p.Signatures > 0 {
			made += "; " + count(int64(p.Signatures), "signature is", "signatures are") + " lost"
		}
		out = append(out, made)
	}
	return out
}

// named are entries as commands name them.
func named(ids []int64) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprintf("@%d", id)
	}
	return strings.Join(out, " ")
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

// tell says what was done, and what remains to be done by people.
func (o *purgeOptions) tell(t *repo.Tape, p repo.Purged) {
	a := o.app
	if p.Finished {
		a.printf("finished a purge that had been cut off\n")
	}
	for _, line := range o.summary(p) {
		a.printf("%s\n", line)
	}
	for _, name := range p.Removed {
		a.printf("removed %s\n", safeLine(name))
	}
	for _, line := range o.otherLines(p) {
		a.printf("%s\n", line)
	}
	for _, left := range p.Left {
		fmt.Fprintf(a.Stderr, "tape: warning: %s\n", safeLine(left))
	}
	const shown = 20
	for i, r := range p.Remotes {
		if i == shown {
			a.printf("and %s more\n", count(int64(len(p.Remotes)-shown), "ref", "refs"))
			break
		}
		a.printf("%s still has it: %s at %.7s\n", safeLine(r.Remote), safeLine(r.Ref), r.Commit)
	}
	o.tellReplace(t, p)
	if len(p.Tapes) > 0 {
		a.printf("who has fetched it has it still: change the secret where it came from\n")
	}
}

// tellReplace shows how to replace the history on the remotes, which nothing here forces.
func (o *purgeOptions) tellReplace(t *repo.Tape, p repo.Purged) {
	a := o.app
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
			a.printf("to replace it there: %s--force-with-lease=%s:%s %s %s && %s--force %s%s %s\n", git, shellWord(r.Ref), r.Commit,
				shellWord(r.Remote), shellWord(r.Ref), git, prune, shellWord(r.Remote), shellWord(done.Tags+":"+done.Tags))
		}
	}
}
