package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"weft/internal/store"
	"weft/internal/store/dir"
)

// Two people go on with a run: one of them wins, and devices can tell them apart.
func Example() {
	root, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	ctx := context.Background()
	s, err := dir.Open(ctx, root, dir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	plan, err := s.PutBlob(ctx, strings.NewReader("the plan"))
	if err != nil {
		log.Fatal(err)
	}
	at, err := s.Create(ctx, "run/r1", []byte(plan))
	if err != nil {
		log.Fatal(err)
	}
	if at, err = s.Update(ctx, "run/r1", []byte("promoted by alice"), at); err != nil {
		log.Fatal(err)
	}
	_, err = s.Update(ctx, "run/r1", []byte("aborted by bob"), at-1)
	if stale, ok := errors.AsType[*store.StaleError](err); ok {
		fmt.Println("bob is told:", stale)
	}

	lease, err := s.Lease(ctx, "device/"+store.Segment("FDO123"), "alice", 5*time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	if lease.Fresh() { // before each step, which carries the token
		fmt.Println("alice holds the switch")
	}
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// bob is told: run/r1 was changed since revision 1: it is revision 2 now
	// alice holds the switch
}
