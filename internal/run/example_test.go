package run

import (
	"context"
	"fmt"
	"os"

	"weft/plan"
)

// A worker gives everything that a command would: where runs are kept, in whose
// name, how the files of a plan are opened, and who listens. What comes back is a
// typed cause; exit codes are the command's.
func ExampleStart() {
	dir, err := os.MkdirTemp("", "run-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, fabric := context.Background(), newFabric(dir) // two devices that are files, and a rollout in two phases
	fabric.model.Rollouts[0].Phases[1].Approve = "manual"
	env := fabric.env()
	env.Emit = func(e plan.Event) {
		if e.Type == plan.EventGate {
			fmt.Println(e.Message)
		}
	}

	site := fabric.site(env) // of a real model: Access.Open
	defer site.Close()
	made, err := site.Plan(ctx, site.Input, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(Start(ctx, env, site, made, Order{}))
	fmt.Println(Promote(ctx, env, Order{Phase: "phase-b"}))
	// Output:
	// phase "phase-a" passes validation.healthy
	// phase "phase-b": it waits for approval
	// phase "phase-b" passes validation.healthy
	// <nil>
}
