package sharing

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"tape/cmd/internal/stdio"
	"tape/internal/store/layout"
	"tape/repo"
)

// writeArtifacts writes the artifacts of the exported entries to a folder. Artifacts that are not
// in the workspace are left out.
func (o *Export) writeArtifacts(ctx context.Context, s *stdio.Streams, t *repo.Tape) error {
	if err := os.MkdirAll(o.Artifacts, 0o700); err != nil {
		return err
	}
	written, missing := map[string]bool{}, 0
	if err := o.checkArtifacts(ctx, t); err != nil {
		return err
	}
	for e, err := range o.entries(ctx, t) {
		if err != nil {
			return err
		}
		for _, a := range repo.References(e) {
			if written[a.ID] {
				continue
			}
			written[a.ID] = true
			switch err := o.writeArtifact(ctx, t, a.ID); {
			case errors.Is(err, repo.ErrNotFound):
				missing++
			case err != nil:
				return err
			}
		}
	}
	s.StderrIfVerbose("wrote %d artifacts to %s", len(written)-missing, o.Artifacts)
	return nil
}

// checkArtifacts returns an error if an artifact has secrets: a file that is named after its content cannot be masked.
func (o *Export) checkArtifacts(ctx context.Context, t *repo.Tape) error {
	if o.mask == nil {
		return nil
	}
	seen := map[string]bool{}
	for e, err := range o.entries(ctx, t) {
		if err != nil {
			return err
		}
		for _, a := range repo.References(e) {
			if seen[a.ID] {
				continue
			}
			seen[a.ID] = true
			r, err := t.Artifact(ctx, a.ID)
			if errors.Is(err, repo.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			data, err := io.ReadAll(r)
			if err = errors.Join(err, r.Close()); err != nil {
				return err
			}
			if found := o.mask.Find(string(data)); len(found) > 0 {
				return layout.Conflict("nothing was written; --with-secrets writes it as it is", "artifact %.12s of entry @%d has what looks like a secret (%s): %s", a.ID, e.ID, found[0].Rule, found[0].Masked)
			}
		}
	}
	return nil
}

func (o *Export) writeArtifact(ctx context.Context, t *repo.Tape, id string) error {
	r, err := t.Artifact(ctx, id)
	if err != nil {
		return err
	}
	defer r.Close()
	return stdio.ReplaceFile(nil, filepath.Join(o.Artifacts, id), func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}
