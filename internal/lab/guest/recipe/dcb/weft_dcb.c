// SPDX-License-Identifier: GPL-2.0
/*
 * weft_dcb: a STAND-IN for the data centre bridging of a NIC, for weft's lab.
 *
 * It gives network devices that have none (virtio's) the dcbnl operations of
 * the kernel and its ethtool operations for global pause, so that the real dcb
 * and ethtool and the real netlink path can be used on them. It keeps what it is told and moves no frame differently: what is
 * proven with it is that settings arrive, are checked and can be read back.
 * The checks are those that mlx5's documentation and driver interface promise:
 * bandwidths of the classes that share add up to 100, applications are told
 * apart by DSCP only, a host that gives bridging away is refused.
 *
 *	modprobe weft_dcb devices=eth1,eth2
 */
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/dcbnl.h>

#define LAB_BUFFER_BYTES 262144

static char *devices = "";
module_param(devices, charp, 0444);
MODULE_PARM_DESC(devices, "names of the devices that get the stand-in, with commas between");

struct lab_dcb {
	struct list_head list;
	struct net_device *dev;
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct dcbnl_buffer buffer;
	struct ethtool_pauseparam pause;
	const struct ethtool_ops *own;	/* the device's, without pause */
	struct ethtool_ops ethtool;
	u8 dcbx;
};

/* Everything below runs under the rtnl lock: dcbnl takes it for us. */
static LIST_HEAD(labs);

static struct lab_dcb *lab_of(struct net_device *dev)
{
	struct lab_dcb *lab;

	list_for_each_entry(lab, &labs, list)
		if (lab->dev == dev)
			return lab;
	return NULL;
}

static int lab_getets(struct net_device *dev, struct ieee_ets *ets)
{
	struct lab_dcb *lab = lab_of(dev);

	if (!lab)
		return -ENODEV;
	*ets = lab->ets;
	return 0;
}

static int lab_setets(struct net_device *dev, struct ieee_ets *ets)
{
	struct lab_dcb *lab = lab_of(dev);
	unsigned int sum = 0, sharing = 0;
	int i;

	if (!lab)
		return -ENODEV;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		if (ets->prio_tc[i] >= IEEE_8021QAZ_MAX_TCS)
			return -EINVAL;
		if (ets->tc_tsa[i] != IEEE_8021QAZ_TSA_ETS)
			continue;
		sharing++;
		sum += ets->tc_tx_bw[i];
	}
	if (sharing && sum != 100) {
		netdev_err(dev, "weft_dcb: bandwidths add up to %u\n", sum);
		return -EINVAL;
	}
	lab->ets = *ets;
	lab->ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	return 0;
}

static int lab_getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct lab_dcb *lab = lab_of(dev);

	if (!lab)
		return -ENODEV;
	*pfc = lab->pfc;
	return 0;
}

static int lab_setpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct lab_dcb *lab = lab_of(dev);

	if (!lab)
		return -ENODEV;
	lab->pfc.pfc_en = pfc->pfc_en;
	lab->pfc.delay = pfc->delay;
	return 0;
}

static int lab_setapp(struct net_device *dev, struct dcb_app *app)
{
	if (app->selector != IEEE_8021QAZ_APP_SEL_DSCP || app->protocol >= 64 || app->priority >= 8)
		return -EINVAL;
	return dcb_ieee_setapp(dev, app);
}

static int lab_delapp(struct net_device *dev, struct dcb_app *app)
{
	if (app->selector != IEEE_8021QAZ_APP_SEL_DSCP || app->protocol >= 64)
		return -EINVAL;
	return dcb_ieee_delapp(dev, app);
}

static u8 lab_getdcbx(struct net_device *dev)
{
	struct lab_dcb *lab = lab_of(dev);

	return lab ? lab->dcbx : 0;
}

static u8 lab_setdcbx(struct net_device *dev, u8 mode)
{
	struct lab_dcb *lab = lab_of(dev);

	if (!lab || (mode & DCB_CAP_DCBX_LLD_MANAGED) || !(mode & DCB_CAP_DCBX_HOST))
		return 1;
	lab->dcbx = mode;
	return 0;
}

static int lab_getbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct lab_dcb *lab = lab_of(dev);

	if (!lab)
		return -ENODEV;
	*buffer = lab->buffer;
	return 0;
}

static int lab_setbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct lab_dcb *lab = lab_of(dev);
	u64 sum = 0;
	int i;

	if (!lab)
		return -ENODEV;
	for (i = 0; i < DCBX_MAX_BUFFERS; i++) {
		sum += buffer->buffer_size[i];
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS)
			return -EINVAL;
	}
	if (sum > LAB_BUFFER_BYTES)
		return -EINVAL;
	memcpy(lab->buffer.prio2buffer, buffer->prio2buffer, sizeof(buffer->prio2buffer));
	memcpy(lab->buffer.buffer_size, buffer->buffer_size, sizeof(buffer->buffer_size));
	return 0;
}

static void lab_getpause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct lab_dcb *lab = lab_of(dev);

	if (!lab)
		return;
	pause->autoneg = lab->pause.autoneg;
	pause->rx_pause = lab->pause.rx_pause;
	pause->tx_pause = lab->pause.tx_pause;
}

static int lab_setpause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct lab_dcb *lab = lab_of(dev);

	if (!lab)
		return -ENODEV;
	lab->pause = *pause;
	return 0;
}

static const struct dcbnl_rtnl_ops lab_ops = {
	.ieee_getets = lab_getets,
	.ieee_setets = lab_setets,
	.ieee_getpfc = lab_getpfc,
	.ieee_setpfc = lab_setpfc,
	.ieee_setapp = lab_setapp,
	.ieee_delapp = lab_delapp,
	.getdcbx = lab_getdcbx,
	.setdcbx = lab_setdcbx,
	.dcbnl_getbuffer = lab_getbuffer,
	.dcbnl_setbuffer = lab_setbuffer,
};

static int lab_add(const char *name)
{
	struct net_device *dev = __dev_get_by_name(&init_net, name);
	struct lab_dcb *lab;
	int i;

	if (!dev) {
		pr_err("weft_dcb: there is no device %s\n", name);
		return -ENODEV;
	}
	if (dev->dcbnl_ops || (dev->ethtool_ops && dev->ethtool_ops->set_pauseparam)) {
		pr_err("weft_dcb: %s has data centre bridging already\n", name);
		return -EBUSY;
	}
	lab = kzalloc(sizeof(*lab), GFP_KERNEL);
	if (!lab)
		return -ENOMEM;
	lab->dev = dev;
	lab->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	lab->pfc.pfc_cap = IEEE_8021QAZ_MAX_TCS;
	lab->ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		lab->ets.prio_tc[i] = i;
		lab->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
	}
	lab->buffer.total_size = LAB_BUFFER_BYTES;
	lab->buffer.buffer_size[0] = LAB_BUFFER_BYTES;
	list_add_tail(&lab->list, &labs);
	dev->dcbnl_ops = &lab_ops;
	lab->own = dev->ethtool_ops;
	if (lab->own)
		lab->ethtool = *lab->own;
	lab->ethtool.get_pauseparam = lab_getpause;
	lab->ethtool.set_pauseparam = lab_setpause;
	dev->ethtool_ops = &lab->ethtool;
	return 0;
}

static void lab_drop(struct lab_dcb *lab)
{
	lab->dev->dcbnl_ops = NULL;
	lab->dev->ethtool_ops = lab->own;
	list_del(&lab->list);
	kfree(lab);
}

/* A device that goes takes its stand-in with it. */
static int lab_event(struct notifier_block *block, unsigned long event, void *ptr)
{
	struct lab_dcb *lab = lab_of(netdev_notifier_info_to_dev(ptr));

	if (lab && event == NETDEV_UNREGISTER)
		lab_drop(lab);
	return NOTIFY_DONE;
}

static struct notifier_block lab_notifier = { .notifier_call = lab_event };

static void lab_drop_all(void)
{
	struct lab_dcb *lab, *next;

	rtnl_lock();
	list_for_each_entry_safe(lab, next, &labs, list)
		lab_drop(lab);
	rtnl_unlock();
}

static int __init lab_init(void)
{
	char *names = kstrdup(devices, GFP_KERNEL), *rest = names, *name;
	int err = 0;

	if (!names)
		return -ENOMEM;
	rtnl_lock();
	while (!err && (name = strsep(&rest, ",")))
		if (*name)
			err = lab_add(name);
	rtnl_unlock();
	kfree(names);
	if (!err)
		err = register_netdevice_notifier(&lab_notifier);
	if (err)
		lab_drop_all();
	return err;
}

static void __exit lab_exit(void)
{
	unregister_netdevice_notifier(&lab_notifier);
	lab_drop_all();
}

module_init(lab_init);
module_exit(lab_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("stand-in for a NIC's data centre bridging, for weft's lab");
