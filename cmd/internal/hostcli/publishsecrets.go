package hostcli

import (
	"context"

	"tape/internal/store/layout"
	"tape/internal/store/outgoing"
	"tape/repo"
)

// refuse returns the error of a push that would send secrets, if --refuse-secrets is set and the tapes have any.
func (p *publisher) refuse(ctx context.Context, tapes []*repo.Tape) error {
	if !p.Refuse {
		return nil
	}
	var found []outgoing.SecretFinding
	for _, t := range tapes {
		for e, err := range t.Entries(ctx, repo.Query{}) {
			if err != nil {
				return err
			}
			list, err := p.mask.Line(e.Raw)
			if err != nil {
				return err
			}
			for _, f := range list {
				found = append(found, outgoing.SecretFinding{Tape: t.Name(), Entry: e.ID, Rule: f.Rule, Path: f.Path, Masked: f.Masked, Fingerprint: f.Fingerprint})
			}
		}
	}
	if len(found) > 0 {
		return layout.Wrap(&outgoing.SecretsError{Findings: found}, "publish")
	}
	return nil
}
