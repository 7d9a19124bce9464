"""A read-only view of one LIBERO scene: poses, collision boxes, contacts, regions and joints."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from .geometry import UP, Array, Box, depth_along, points_of

HINGE = 3  # mujoco.mjtJoint.mjJNT_HINGE
BOX = 6  # mujoco.mjtGeom.mjGEOM_BOX
ROBOT_PREFIXES = ("robot0_", "gripper0_", "mount0_")  # robosuite's naming of its first robot


@dataclass(frozen=True, kw_only=True)
class Region:
    """Where an object's origin should be: a centre [3], axes [3, 3] and half sizes [3] in the world."""

    centre: Array
    axes: Array
    half: Array
    parent: str | None

    @property
    def reach(self) -> Array:
        """Return the half sizes [3] along the world's axes."""
        return np.asarray(np.abs(self.axes) @ self.half)


@dataclass(frozen=True, kw_only=True)
class Joint:
    """One movable joint of a fixture: axis [3] and anchor [3] in the world, its link's body and position."""

    axis: Array
    anchor: Array
    hinge: bool
    body: int
    value: float
    low: float
    high: float
    address: int


class Scene:
    """Read ground truth from the LIBERO problem (inner env) that a private env offers; never writes."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.model = problem.sim.model._model
        self.data = problem.sim.data._data
        self._site = problem.robots[0].eef_site_id
        names = [problem.sim.model.body_id2name(i) or "" for i in range(self.model.nbody)]
        self.robot = frozenset(i for i, name in enumerate(names) if name.startswith(ROBOT_PREFIXES))
        self.fingers = tuple(
            frozenset(i for i in self.robot if "gripper0" in names[i] and part in names[i])
            for part in ("leftfinger", "rightfinger")
        )
        self.fingers = tuple(frozenset(self._below(side)) for side in self.fingers)
        solid = (self.model.geom_contype != 0) | (self.model.geom_conaffinity != 0)
        self._solid = [g for g in range(self.model.ngeom) if solid[g] and self.model.geom_type[g] != 0]

    def _below(self, roots: Collection[int]) -> set[int]:
        bodies = set(roots)
        for body in range(1, self.model.nbody):
            if self.model.body_parentid[body] in bodies:
                bodies.add(body)
        return bodies

    def gripper(self) -> tuple[Array, Array]:
        """Return the grip site's position [3] and axes [3, 3]: x closes, z approaches."""
        return self.data.site_xpos[self._site].copy(), self.data.site_xmat[self._site].reshape(3, 3).copy()

    def opening(self) -> float:
        """Return the distance between the fingers in metres."""
        return float(np.abs(self.data.qpos[self.problem.robots[0]._ref_gripper_joint_pos_indexes]).sum())

    def speed(self) -> float:
        """Return the speed of the fastest free object, in metres per second."""
        joints = (self.problem.get_object(name).joints for name in self.problem.objects_dict)
        velocities = [self.problem.sim.data.get_joint_qvel(names[-1])[:3] for names in joints if names]
        return max((float(np.linalg.norm(velocity)) for velocity in velocities), default=0.0)

    def root(self, name: str) -> int:
        """Return the root body of an object or fixture."""
        return int(self.problem.obj_body_id[name])

    def pose(self, name: str) -> tuple[Array, Array]:
        """Return the position [3] and axes [3, 3] of an object or fixture."""
        body = self.root(name)
        return self.data.xpos[body].copy(), self.data.xmat[body].reshape(3, 3).copy()

    def bodies(self, name: str) -> frozenset[int]:
        """Return the bodies of an object or fixture."""
        return self.subtree(self.root(name))

    def subtree(self, body: int) -> frozenset[int]:
        """Return a body and all below it."""
        return frozenset(self._below({body}))

    def boxes(self, only: Collection[int] | None = None, without: Collection[int] = ()) -> list[Box]:
        """Return the collision geoms as boxes, planes left out; ``only`` and ``without`` are bodies."""
        found = []
        for geom in self._solid:
            body = int(self.model.geom_bodyid[geom])
            if body in without or (only is not None and body not in only):
                continue
            found.append(self._box(geom, body))
        return found

    def _box(self, geom: int, body: int) -> Box:
        size, kind = self.model.geom_size[geom], int(self.model.geom_type[geom])
        axes = self.data.geom_xmat[geom].reshape(3, 3).copy()
        centre = self.data.geom_xpos[geom].copy()
        if kind == BOX:
            half = size.copy()
        else:  # MuJoCo's own bounding box of every other geom type
            bounds = self.model.geom_aabb[geom]
            centre, half = centre + axes @ bounds[:3], bounds[3:].copy()
        return Box(centre=centre, axes=axes, half=half, body=body)

    def touching(self, one: Collection[int], two: Collection[int]) -> bool:
        """Tell whether two groups of bodies are in contact now."""
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            a, b = int(self.model.geom_bodyid[contact.geom1]), int(self.model.geom_bodyid[contact.geom2])
            if (a in one and b in two) or (b in one and a in two):
                return True
        return False

    def supported(self, bodies: Collection[int]) -> bool:
        """Tell whether bodies touch anything that is neither themselves nor the robot."""
        others = set(range(self.model.nbody)) - set(bodies) - self.robot
        return self.touching(bodies, others)

    def gripped(self, bodies: Collection[int]) -> bool:
        """Tell whether both fingers touch the bodies."""
        return all(self.touching(side, bodies) for side in self.fingers)

    def height_below(self, points: Array, without: Collection[int]) -> Array:
        """Return the height [n] of the first surface under points [n, 3]; -inf where there is none."""
        depth, _ = depth_along(self.boxes(without=set(without) | self.robot), points, -UP)
        return np.asarray(points[:, 2] - depth)

    def corridor_height(self, start: Array, end: Array, radius: float, without: Collection[int]) -> float:
        """Return the highest surface between two points, within a radius of the straight line."""
        line = start[None] + np.linspace(0, 1, 12)[:, None] * (end - start)[None]
        side = np.array([[x, y, 0] for x in (-radius, 0, radius) for y in (-radius, 0, radius)])
        points = (line[:, None] + side[None]).reshape(-1, 3)
        points[:, 2] = 3.0
        return float(self.height_below(points, without).max())

    def top(self, bodies: Collection[int]) -> float:
        """Return the height of the highest corner of bodies."""
        return float(points_of(self.boxes(only=bodies))[:, 2].max())

    def bottom(self, bodies: Collection[int]) -> float:
        """Return the height of the lowest corner of bodies."""
        return float(points_of(self.boxes(only=bodies))[:, 2].min())

    def region(self, name: str) -> Region | None:
        """Return the region of a site, or None where the name is an object's."""
        if name not in self.problem.object_sites_dict:
            return None
        site = self.problem.object_sites_dict[name]
        return Region(
            centre=np.array(self.problem.sim.data.get_site_xpos(name)),
            axes=np.array(self.problem.sim.data.get_site_xmat(name)).reshape(3, 3),
            half=np.asarray(site.size, np.float64),
            parent=site.parent_name,
        )

    def parent(self, name: str) -> str:
        """Return the object or fixture a region belongs to, or the name itself."""
        sites = self.problem.object_sites_dict
        return str(sites[name].parent_name or name) if name in sites else name

    def joint_names(self, name: str) -> list[str]:
        """Return the joints that a region or fixture is articulated by."""
        sites = self.problem.object_sites_dict
        if name in sites:
            return list(sites[name].joints or ())
        if name in self.problem.fixtures_dict:
            return list(self.problem.get_object(name).joints)
        return []

    def joint(self, name: str) -> Joint:
        """Return one joint of a fixture by its name."""
        index = self.problem.sim.model.joint_name2id(name)
        address = int(self.model.jnt_qposadr[index])
        low, high = self.model.jnt_range[index]
        return Joint(
            axis=self.data.xaxis[index].copy(),
            anchor=self.data.xanchor[index].copy(),
            hinge=int(self.model.jnt_type[index]) == HINGE,
            body=int(self.model.jnt_bodyid[index]),
            value=float(self.data.qpos[address]),
            low=float(low),
            high=float(high),
            address=address,
        )
