"""Make every suite an id of Gymnasium's: ``import robosmoke.envs``, then ``gymnasium.make("robosmoke/pusht-v0")``.

Gymnasium 1.0 gave up loading plugins by itself, so the import is what registers.
"""

from robosmoke.guest.loading import register_envs

register_envs()
