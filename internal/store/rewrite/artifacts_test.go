package rewrite_test

import (
	"tape/internal/store/purge"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func TestPurgeReachesArtifacts(t *testing.T) {
	const token, password = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789", "Hq7vLm3xTt1P"
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	kept := storetest.AddArtifact(t, tp, "kept", "nothing to hide")
	a := storetest.AddArtifact(t, tp, "log", "token "+token+" end\n")
	storetest.Append(t, tp, storetest.ReferTo("look", a, kept), repo.Message("user", "it is "+token))
	storetest.Handoff(t, tp, "next")
	late := storetest.AddArtifact(t, tp, "late", "and again "+token+", and in Latin-1: postgres://us\xe9r:"+password+"@db.prod.net/x")
	storetest.Append(t, tp, storetest.ReferTo("here", late))
	if _, err := tp.Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}}); err != nil {
		t.Fatal(err)
	}
	storetest.WantNowhere(t, s.Dir(), token)
	storetest.WantNowhere(t, s.Dir(), password)
	storetest.WantArtifact(t, tp, kept, "nothing to hide")
	list, err := tp.Artifacts(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatalf("artifacts: %+v, %v; want 3", list, err)
	}
	for _, x := range list {
		if len(x.Entries) != 1 {
			t.Errorf("artifact %s is referred to by %v, want one entry", x.Name, x.Entries)
		}
	}
}

func TestPurgeWholeTakesTheArtifact(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	a := storetest.AddArtifact(t, tp, "diary", "what nobody else should read")
	storetest.Append(t, tp, storetest.ReferTo("look", a))
	storetest.Handoff(t, tp, "next")
	if _, err := tp.Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}, Whole: true}); err != nil {
		t.Fatal(err)
	}
	storetest.WantNowhere(t, s.Dir(), "what nobody else should read")
	list, err := tp.Artifacts(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "[redacted]" {
		t.Errorf("artifacts: %+v, %v; want one named [redacted]", list, err)
	}
}
