package repair

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/writer"
)

// branches gives each branch that was lost or is damaged the newest value that is known and can be read.
func (g *gitMender) branches(ctx context.Context) error {
	for _, prefix := range []string{layout.BranchPrefix, layout.ForkPrefix, layout.ArchivePrefix} {
		refs, damaged, err := g.git.ReadableRefs(prefix)
		if err != nil {
			return err
		}
		lost, begun := g.git.LostRefs(prefix, refs)
		broken := append(lost, begun...)
		for _, d := range damaged {
			broken = append(broken, d.Name)
		}
		known := map[string]bool{}
		for _, ref := range refs {
			known[ref.Name] = true
			if _, err := snapshot.AtCommit(g.s, ref.Hash); err != nil {
				broken = append(broken, ref.Name)
			}
		}
		for branch := range g.trees() { // of which not even the log is left
			if rec, ok := g.record(branch); ok && strings.HasPrefix(branch, prefix) && !known[branch] && rec.LastID > 0 {
				broken = append(broken, branch)
			}
		}
		if branch, _, err := g.git.Head(g.git.GitDir()); err == nil && strings.HasPrefix(branch, prefix) && !known[branch] {
			if rec, ok := g.record(branch); ok && rec.LastID > 0 {
				broken = append(broken, branch)
			}
		}
		slices.Sort(broken)
		for _, name := range slices.Compact(broken) {
			if err := g.branch(ctx, name); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil { // it keeps no other from its repair
				g.say("%s was not restored: %v", short(name), err)
			}
		}
	}
	return nil
}

// branch restores one branch.
func (g *gitMender) branch(ctx context.Context, name string) error {
	now, err := g.git.Ref(name)
	if err == nil {
		if _, err := snapshot.AtCommit(g.s, now); err == nil {
			return nil // mended before
		}
	}
	h, from := g.newest(name)
	if h.IsZero() || h == now {
		return nil // verify reports it
	}
	if errors.Is(err, gitstore.ErrDamagedRef) {
		if err := g.files.Keep(g.git.RefPath(name)); err != nil {
			return err
		}
		if now, err = g.git.Ref(name); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
	}
	if now == h {
		from = "packed-refs"
	} else if err := g.git.UpdateRef(ctx, gitstore.RefUpdate{Name: name, Old: now, New: h, Message: "tape: repair"}); err != nil {
		return err
	}
	g.say("%s was restored from %s: %s", short(name), from, h.String()[:12])
	if rec, ok := g.record(name); ok && rec.Head != h.String() && rec.Undo == nil {
		// The record is about a commit that is gone. Without it, the files say where the tape ends.
		t, err := g.s.TapeOfBranch(name)
		if err != nil {
			return err
		}
		return writer.ForgetRecord(ctx, t)
	}
	return nil
}

// record returns the record of a branch's last writer.
func (g *gitMender) record(branch string) (rec journal.Record, ok bool) {
	for _, slug := range namesIn(g.s.PrivatePath("locks")) {
		if rec, ok, err := journal.Peek(g.s.PrivatePath("locks", slug)); ok && err == nil && rec.Branch == branch {
			return rec, true
		}
	}
	return rec, false
}

// newest returns the newest known value of a branch that can be read, and where it was found.
func (g *gitMender) newest(name string) (h gitstore.Hash, from string) {
	readable := func(h gitstore.Hash) bool {
		c, err := g.git.Commit(h)
		if h.IsZero() || err != nil {
			return false
		}
		// The log of a tape also names the last commits of forks that were closed.
		if tape := layout.DecodeTrailer(c.Trailer(layout.TrailerName)); tape != "" && strings.HasPrefix(name, "refs/heads/") && layout.BranchOf(tape, name) != name {
			return false
		}
		_, err = snapshot.AtCommit(g.s, h)
		return err == nil
	}
	log, _ := g.git.Reflog(name)
	if n := len(log); n > 0 && readable(log[n-1].New) {
		return log[n-1].New, "its log"
	}
	rec, _ := g.record(name)
	if h, err := gitstore.ParseHash(rec.Head); err == nil && readable(h) {
		return h, "its last writer's record"
	}
	if h := g.refs[name]; readable(h) {
		return h, "packed-refs"
	}
	for i := len(log) - 1; i >= 0; i-- { // the files go on from there
		for _, h := range []gitstore.Hash{log[i].New, log[i].Old} {
			if readable(h) {
				return h, "its log, whose newest commit is gone"
			}
		}
	}
	inner := strings.TrimPrefix(name, "refs/heads/")
	for _, prefix := range layout.RemoteRefs() {
		refs, _, _ := g.git.ReadableRefs(prefix)
		for _, ref := range refs {
			if strings.HasSuffix(ref.Name, "/"+inner) && readable(ref.Hash) {
				return ref.Hash, ref.Name
			}
		}
	}
	return gitstore.ZeroHash, ""
}

// logs takes the lines out of logs that name commits that are gone: git fsck stops at them.
func (g *gitMender) logs(ctx context.Context) error {
	gone := map[string]bool{}
	isGone := func(line string) bool {
		for i, word := range strings.Fields(line) {
			h, err := gitstore.ParseHash(word)
			if i > 1 || err != nil || h.IsZero() {
				break
			}
			if _, seen := gone[word]; !seen {
				_, _, err := g.git.Read(h)
				gone[word] = errors.Is(err, gitstore.ErrNotFound)
			}
			if gone[word] {
				return true
			}
		}
		return false
	}
	for _, dir := range g.git.HeadDirs() {
		err := filepath.WalkDir(filepath.Join(dir, "logs"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return ctx.Err()
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var kept strings.Builder
			for line := range strings.Lines(string(raw)) {
				if !isGone(line) {
					kept.WriteString(line)
				}
			}
			if kept.Len() == len(raw) {
				return nil
			}
			return g.files.Replace(path, []byte(kept.String()))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tags removes tags of handoffs that cannot be read: they are made again from the commits.
func (g *gitMender) tags(context.Context) error {
	refs, damaged, err := g.git.ReadableRefs(layout.TagPrefix)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if _, err := g.git.Peel(ref.Hash); err != nil {
			damaged = append(damaged, gitstore.DamagedRef{Name: ref.Name, Err: err})
		}
	}
	for _, d := range damaged {
		if d.Name == "" {
			continue
		}
		if _, err := os.Lstat(g.git.RefPath(d.Name)); err != nil {
			continue
		}
		if err := g.files.Keep(g.git.RefPath(d.Name)); err != nil {
			return err
		}
		g.say("the tag %s was damaged, and is made again", layout.ShortTag(d.Name))
	}
	return nil
}
