package forks_test

import (
	"tape/internal/testkit"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, runRacer) }
