package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sendRefs sends refs and the objects that the remote lacks, and notes in results what
// became of them.
func (r *Repo) sendRefs(ctx context.Context, l line, send []PushRef, there map[string]Hash, atomic bool, results []PushResult, o TransportOptions) error {
	request := pushRequest(send, there, atomic)
	body, size := io.Reader(bytes.NewReader(request)), int64(len(request))
	if tips := newTips(send); len(tips) > 0 {
		objects, err := r.lacks(ctx, tips, remoteTips(send, there))
		if err != nil {
			return err
		}
		pack, err := r.packFor(ctx, objects)
		if err != nil {
			return err
		}
		defer removeFile(pack)
		n, err := pack.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = pack.Seek(0, io.SeekStart)
		}
		if err != nil {
			return err
		}
		body, size = io.MultiReader(body, pack), size+n
	}
	answer, err := l.ask(ctx, receivePack, body, size)
	if err != nil {
		return err
	}
	reasons, said, err := readReport(answer, o.Progress)
	if err != nil {
		return err
	}
	for i := range results {
		if !slices.ContainsFunc(send, func(ref PushRef) bool { return ref.Name == results[i].Name }) {
			continue
		}
		why, told := reasons[results[i].Name]
		if !told {
			return fmt.Errorf("%w: it does not tell what became of %s", ErrRemote, results[i].Name)
		}
		if why != "" {
			results[i].Status, results[i].Reason = PushRejected, reason("("+why+")", said)
		}
	}
	return nil
}

// copyTo pushes to a repository on this machine.
func (r *Repo) copyTo(ctx context.Context, dir string, refs []PushRef, atomic bool) ([]PushResult, error) {
	other, err := openLocal(dir)
	if err != nil {
		return nil, err
	}
	if err := other.noHooks(); err != nil {
		return nil, err
	}
	told, err := other.Refs("refs/")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRemote, err)
	}
	there := (&advertised{refs: told}).hashes()
	results, send, err := r.judgeAll(ctx, refs, there, atomic)
	if err != nil {
		return nil, err
	}
	if other.refuseCheckedOut(send, results) && atomic {
		for i := range results {
			if s := results[i].Status; s != PushRejected && s != PushUpToDate {
				results[i] = PushResult{Name: results[i].Name, Status: PushRejected, Reason: PushCollateral}
			}
		}
		return results, nil
	}
	send = slices.DeleteFunc(send, func(ref PushRef) bool {
		return slices.ContainsFunc(results, func(r PushResult) bool { return r.Name == ref.Name && r.Status == PushRejected })
	})
	if len(send) == 0 {
		return results, nil
	}
	if err := copyObjects(ctx, r, other, newTips(send), remoteTips(send, there)); err != nil {
		return nil, err
	}
	var updates []RefUpdate
	for _, ref := range send {
		updates = append(updates, RefUpdate{Name: ref.Name, Old: there[ref.Name], New: ref.New, Message: "push", Who: transportWho})
	}
	if err := other.updateAll(ctx, updates); err != nil {
		if !errors.Is(err, ErrConflict) {
			return nil, err
		}
		for i := range results {
			if slices.ContainsFunc(send, func(ref PushRef) bool { return ref.Name == results[i].Name }) {
				results[i].Status, results[i].Reason = PushRejected, "someone else pushed at the same time"
			}
		}
	}
	return results, nil
}

// noHooks refuses a repository that has hooks which decide on a push: only git runs them.
func (r *Repo) noHooks() error {
	dir, _ := r.HooksDir()
	for _, name := range []string{"pre-receive", "update", "proc-receive", "reference-transaction"} {
		if st, err := os.Stat(filepath.Join(dir, name)); dir != "" && err == nil && !st.IsDir() && st.Mode().Perm()&0o111 != 0 {
			return fmt.Errorf("%w: it has the hook %s, which only the git program can run", ErrRemote, name)
		}
	}
	return nil
}

// refuseCheckedOut rejects what receive.denyCurrentBranch, and denyDeletes, keep git from
// taking: a branch that is checked out there.
func (r *Repo) refuseCheckedOut(send []PushRef, results []PushResult) (refused bool) {
	policy, _ := r.ConfigValue("receive", "", "denyCurrentBranch")
	allowed := slices.Contains([]string{"ignore", "warn", "false", "no", "off", "0"}, strings.ToLower(policy))
	for _, ref := range send {
		_, err := r.WorktreeOf(ref.Name)
		var why string
		switch {
		case err == nil && !allowed:
			why = "branch is currently checked out"
		case ref.New.IsZero() && r.configBool("receive", "", "denyDeletes"):
			why = "deletion prohibited"
		default:
			continue
		}
		i := slices.IndexFunc(results, func(r PushResult) bool { return r.Name == ref.Name })
		results[i].Status, results[i].Reason = PushRejected, why
		refused = true
	}
	return refused
}
