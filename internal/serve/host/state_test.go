package host

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tape/internal/serve/host/api"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// Values are read wherever they are on the tape, the newest of each key, and masked for a caller that does
// not see secrets.
func TestValues(t *testing.T) {
	tp := storetest.Tape(t, storetest.New(t, nil), "main")
	fill := func(n int) {
		_, err := tp.Update(t.Context(), func(tx *repo.Tx) error {
			for range n {
				if err := tx.AppendLine(t.Context(), []byte(`{"kind":"message","payload":{"role":"user","content":"x"}}`)); err != nil {
					return err
				}
			}
			return nil
		})
		storetest.Must(t, err)
	}
	set := func(key, value string) {
		storetest.Append(t, tp, repo.Draft{Kind: kindState, Payload: fmt.Appendf(nil, `{"scope":"conversation","key":%q,"value":%s}`, key, value)})
	}
	set("a", "1")
	set("b", "2")
	fill(near + 10)
	set("a", "3")
	set("c", `"the password=Tr0ub4dor99"`)
	owner := stateKey{Scope: scopeConversation}
	v, err := stateViewOf(t.Context(), &tapeQueues{}, tp, owner, nil)
	storetest.Must(t, err)
	got, err := v.Values(t.Context(), append(v.Keys(), "none")...)
	storetest.Must(t, err)
	if len(got) != 3 || string(got["a"].JSON) != "3" || string(got["b"].JSON) != "2" || !strings.Contains(string(got["c"].JSON), "Tr0ub") {
		t.Errorf("the values are %v, want a=3, b=2 and the text of c", got)
	}
	masked, err := stateViewOf(t.Context(), &tapeQueues{}, tp, owner, newMasker([]byte("key")))
	storetest.Must(t, err)
	got, err = masked.Values(t.Context(), "c")
	if err != nil || len(got) != 1 || strings.Contains(string(got["c"].JSON), "Tr0ub") || !strings.Contains(string(got["c"].JSON), "the password=[redacted") {
		t.Errorf("the masked value of c is %v (%v), want a mark for the password", got, err)
	}
	_, err = tp.Reset(t.Context(), true)
	storetest.Must(t, err)
	v.rev, err = tp.Store().Revision(t.Context(), tp, "")
	storetest.Must(t, err)
	if _, err := v.Values(t.Context(), "a"); api.ProblemOf(err).Status != http.StatusConflict {
		t.Errorf("after the tape was rewritten: %v, want status 409", err)
	}
}
