package plan_test

import (
	"fmt"

	"weft/plan"
)

// An ID names one resource on one device, in plans as on the command line.
func ExampleParseID() {
	id, err := plan.ParseID(`server.node["st1"]/mtu.p0`)
	fmt.Println(id.Device, id.Kind, id.Name, err)
	// Output: server.node["st1"] mtu p0 <nil>
}
